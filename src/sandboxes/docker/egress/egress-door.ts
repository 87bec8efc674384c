import { join } from "node:path";
import { PortcullisError } from "../../../base/index.ts";
import type { Connection } from "../../sandbox.ts";
import { makeMountedFolder, removeMountedFolder } from "../container/mounted-folder.ts";
import type { EgressPlan } from "./egress-plan.ts";
import { EgressProxy } from "./egress-proxy.ts";

export const EGRESS_SOCKET = "socket";

/** Longest socket path that kernels accept. */
const SOCKET_PATH_BYTES = 107;

/** Opens the egress of one container: a proxy that listens on a socket in a folder, which is mounted into the container. */
export async function openDoor(plan: EgressPlan) {
  const folder = makeMountedFolder();
  /** Connections that ended before a listener was set. A guest without a program normally makes none. */
  const unreported: Connection[] = [];
  let report = (connection: Connection): void => void unreported.push(connection);
  const proxy = new EgressProxy(plan, (connection) => report(connection));
  /** Ends every connection, and reports each to the listener before this returns. */
  const close = (): void => {
    proxy.close();
    removeMountedFolder(folder);
  };
  const path = join(folder, EGRESS_SOCKET);
  try {
    if (Buffer.byteLength(path) > SOCKET_PATH_BYTES)
      throw new PortcullisError(
        "sandbox_unavailable",
        `The path ${path} is too long for a socket: set TMPDIR to a shorter one.`,
      );
    await proxy.listen(path);
  } catch (error) {
    close();
    throw error;
  }
  return {
    folder,
    proxy,
    close,

    /** Sets the listener, which is called with each connection after it has ended. */
    setListener(listener: (connection: Connection) => void): void {
      report = listener;
      for (const connection of unreported.splice(0)) listener(connection);
    },
  };
}

export type EgressDoor = Awaited<ReturnType<typeof openDoor>>;
