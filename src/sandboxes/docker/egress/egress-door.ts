import { join } from "node:path";
import { PortcullisError } from "../../../errors.ts";
import type { Connection } from "../../sandbox.ts";
import { EGRESS_SOCKET } from "../container-options.ts";
import { makeMountedFolder, removeMountedFolder } from "../mounted-folder.ts";
import type { EgressPlan } from "./egress-plan.ts";
import { EgressProxy } from "./egress-proxy.ts";

/** Longest path of a socket that kernels take. */
const SOCKET_PATH_BYTES = 107;

/** The way out of one container: a proxy, and the folder with its socket and nothing else, which the container gets to see. */
export class EgressDoor {
  readonly folder: string;
  /** Of connections that ended before anybody wanted to be told; a guest that waits for its program makes none. */
  #untold: Connection[] = [];
  #listener: ((connection: Connection) => void) | undefined;
  #proxy: EgressProxy | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(plan: EgressPlan): Promise<EgressDoor> {
    const door = new EgressDoor(makeMountedFolder());
    const path = join(door.folder, EGRESS_SOCKET);
    try {
      if (Buffer.byteLength(path) > SOCKET_PATH_BYTES)
        throw new PortcullisError(
          "sandbox_unavailable",
          `The path ${path} is too long for a socket: set TMPDIR to a shorter one.`,
        );
      door.#proxy = await EgressProxy.open(plan, path, (connection) => door.#tell(connection));
      return door;
    } catch (error) {
      door.close();
      throw error;
    }
  }

  /** Sets who is told of each connection once it has ended. */
  tellTo(listener: (connection: Connection) => void): void {
    this.#listener = listener;
    for (const connection of this.#untold.splice(0)) listener(connection);
  }

  /** Ends every connection, and tells of each before this returns. */
  close(): void {
    this.#proxy?.close();
    removeMountedFolder(this.folder);
  }

  ref(): void {
    this.#proxy?.ref();
  }

  unref(): void {
    this.#proxy?.unref();
  }

  #tell(connection: Connection): void {
    if (this.#listener) this.#listener(connection);
    else this.#untold.push(connection);
  }
}
