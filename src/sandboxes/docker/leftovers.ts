import { hostMachine, hostProcess, isGone } from "../host-process.ts";
import { removeContainer } from "./container.ts";
import { type Daemon, isObject } from "./daemon.ts";
import { removeLeftFolders } from "./mounted-folder.ts";

const MACHINE = "portcullis.machine";
const HOST = "portcullis.host";

/** Labels of every container: its host process, and the machine and process namespace of that process. */
export function hostLabels(): Readonly<Record<string, string>> {
  return { [MACHINE]: hostMachine(), [HOST]: hostProcess() };
}

/**
 * Removes containers whose host has ended, and returns how many. An idle guest ends with its host; a busy one may not
 * notice. Containers of hosts on other machines are kept, because those hosts cannot be checked from here.
 */
export async function removeLeftovers(daemon: Daemon): Promise<number> {
  removeLeftFolders();
  const filters = { label: [`${MACHINE}=${hostMachine()}`] };
  const containers: unknown = await daemon.ask((docker, abortSignal) =>
    docker.listContainers({ all: true, filters, abortSignal }),
  );
  if (!Array.isArray(containers)) throw daemon.unexpectedAnswer("about its containers");
  const left = containers.flatMap((container: unknown) => {
    const { Id: id, Labels: labels } = isObject(container) ? container : {};
    const host = isObject(labels) ? labels[HOST] : undefined;
    return typeof id === "string" && typeof host === "string" && isGone(host) ? [id] : [];
  });
  const removed = await Promise.all(left.map((id) => removeContainer(daemon, id)));
  return removed.filter(Boolean).length;
}
