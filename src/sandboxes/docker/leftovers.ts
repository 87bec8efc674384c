import { fieldOf, now, textOf } from "../../base/index.ts";
import { hostMachine, hostProcess, isGone } from "../host-process.ts";
import type { Daemon, DaemonFailure } from "./daemon.ts";
import { removeLeftFolders } from "./container/mounted-folder.ts";

const MACHINE = "portcullis.machine";
const HOST = "portcullis.host";

/** Labels of every container: its host process, and the machine and process namespace of that process. */
export function hostLabels(): Readonly<Record<string, string>> {
  return { [MACHINE]: hostMachine(), [HOST]: hostProcess() };
}

/** How long a daemon that did not answer may still make a container, in milliseconds. */
const LATE_MS = 60_000;

/** Names of this process's containers that may remain, and since when. Their sandbox may be closed by now. */
const orphans = new Map<string, { readonly address: string; readonly since: number }>();

/** Ends and removes a container. If that fails, or it may still come, each later start and close tries again. */
export async function removeContainer(daemon: Daemon, id: string, mayCome = false): Promise<void> {
  const isRemoved = await daemon
    .ask((docker, abortSignal) => docker.getContainer(id).remove({ force: true, v: true, abortSignal }))
    .then(
      () => true,
      (error: DaemonFailure) => error.statusCode === 404,
    );
  const { since } = orphans.get(id) ?? { since: now() };
  if (isRemoved && !mayCome && (!orphans.has(id) || now() - since > LATE_MS)) orphans.delete(id);
  else orphans.set(id, { address: daemon.address, since });
}

/** Tries again to remove containers of this process that may remain. */
export async function retryRemovals(daemon: Daemon): Promise<void> {
  const own = [...orphans].filter(([, { address }]) => address === daemon.address);
  await Promise.all(own.map(([id]) => removeContainer(daemon, id)));
}

/**
 * Removes containers whose host has ended, and those of this process that may remain. An idle guest ends with its host; a
 * busy guest may not notice. Hosts on other machines cannot be checked, so their containers are kept.
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
  await retryRemovals(daemon);
}
