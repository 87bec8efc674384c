import { fieldOf, textOf } from "../../base/index.ts";
import { hostMachine, hostProcess, isGone } from "../host-process.ts";
import { removeContainer } from "./container/container.ts";
import type { Daemon } from "./daemon.ts";
import { removeLeftFolders } from "./container/mounted-folder.ts";

const MACHINE = "portcullis.machine";
const HOST = "portcullis.host";

/** Labels of every container: its host process, and the machine and process namespace of that process. */
export function hostLabels(): Readonly<Record<string, string>> {
  return { [MACHINE]: hostMachine(), [HOST]: hostProcess() };
}

/**
 * Removes containers whose host has ended. An idle guest ends with its host; a busy guest may not notice. Hosts on other
 * machines cannot be checked, so their containers are kept.
 */
export async function removeLeftovers(daemon: Daemon): Promise<void> {
  removeLeftFolders();
  const filters = { label: [`${MACHINE}=${hostMachine()}`] };
  const containers: unknown = await daemon.ask((docker, abortSignal) =>
    docker.listContainers({ all: true, filters, abortSignal }),
  );
  const abandoned = [containers].flat().flatMap((container) => {
    const host = textOf(fieldOf(container, "Labels"), HOST);
    return host !== undefined && isGone(host) ? (textOf(container, "Id") ?? []) : [];
  });
  await Promise.all(abandoned.map((id) => removeContainer(daemon, id)));
}
