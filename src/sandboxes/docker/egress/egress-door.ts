import { join } from "node:path";
import { PortcullisError } from "../../../base/index.ts";
import type { Connection } from "../../sandbox.ts";
import { makeMountedFolder, removeMountedFolder } from "../container/mounted-folder.ts";
import type { EgressPlan } from "./egress-plan.ts";
import { EgressProxy } from "./egress-proxy.ts";

export const EGRESS_SOCKET = "socket";

/** Longest socket path that kernels accept. */
const SOCKET_PATH_BYTES = 107;

/** Egress of one container: a proxy that listens on a socket in a folder, which is mounted into the container. */
export class EgressDoor {
  readonly folder = makeMountedFolder();
  readonly proxy: EgressProxy;
  /** Connections that ended before a listener was set. A guest without a program normally makes none. */
  #unreported: Connection[] = [];
  #listener = (connection: Connection): void => void this.#unreported.push(connection);

  private constructor(plan: EgressPlan) {
    this.proxy = new EgressProxy(plan, (connection) => this.#listener(connection));
  }

  static async open(plan: EgressPlan): Promise<EgressDoor> {
    const door = new EgressDoor(plan);
    const path = join(door.folder, EGRESS_SOCKET);
    try {
      if (Buffer.byteLength(path) > SOCKET_PATH_BYTES)
        throw new PortcullisError(
          "sandbox_unavailable",
          `The path ${path} is too long for a socket: set TMPDIR to a shorter one.`,
        );
      await door.proxy.listen(path);
      return door;
    } catch (error) {
      door.close();
      throw error;
    }
  }

  /** Sets the listener, which is called with each connection after it has ended. */
  setListener(listener: (connection: Connection) => void): void {
    this.#listener = listener;
    for (const connection of this.#unreported.splice(0)) listener(connection);
  }

  /** Ends every connection, and reports each to the listener before this returns. */
  close(): void {
    this.proxy.close();
    removeMountedFolder(this.folder);
  }
}
