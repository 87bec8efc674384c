import { join } from "node:path";
import { PortcullisError } from "../../../errors.ts";
import type { Connection } from "../../sandbox.ts";
import type { EgressPlan } from "./egress-plan.ts";
import { EgressProxy } from "./egress-proxy.ts";

/** Name of the socket in its folder. */
export const EGRESS_SOCKET = "socket";

/** Longest socket path that kernels accept. */
const SOCKET_PATH_BYTES = 107;

/** Egress of one container: a proxy that listens on a socket in a folder, which is mounted into the container. */
export class EgressDoor {
  readonly folder: string;
  /** Connections that ended before a listener was set. A guest without a program normally makes none. */
  #unreported: Connection[] = [];
  #listener: ((connection: Connection) => void) | undefined;
  #proxy: EgressProxy | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Listens in `folder`. The caller removes the folder. */
  static async open(plan: EgressPlan, folder: string): Promise<EgressDoor> {
    const door = new EgressDoor(folder);
    const path = join(door.folder, EGRESS_SOCKET);
    try {
      if (Buffer.byteLength(path) > SOCKET_PATH_BYTES)
        throw new PortcullisError(
          "sandbox_unavailable",
          `The path ${path} is too long for a socket: set TMPDIR to a shorter one.`,
        );
      door.#proxy = await EgressProxy.open(plan, path, (connection) => door.#report(connection));
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

  /** Whether a connection was made. */
  get isUsed(): boolean {
    return this.#proxy?.isUsed === true;
  }

  /** Ends every connection, and reports each to the listener before this returns. */
  close(): void {
    this.#proxy?.close();
  }

  ref(): void {
    this.#proxy?.ref();
  }

  unref(): void {
    this.#proxy?.unref();
  }

  #report(connection: Connection): void {
    if (this.#listener) this.#listener(connection);
    else this.#unreported.push(connection);
  }
}
