import { fieldOf, now, textOf } from "../../base/index.ts";
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

/** How long a daemon that did not answer may still make a container, in milliseconds. */
const LATE_MS = 60_000;

/**
 * Names of this process's containers that may remain, with their daemon's address and the time since when. Their
 * removal failed, or the daemon did not answer when they were created. Their sandbox may be closed by now.
 */
const left = new Map<string, { readonly address: string; readonly since: number }>();

export function noteLeft({ address }: Daemon, id: string): void {
  if (!left.has(id)) left.set(id, { address, since: now() });
}

/** Tries again to remove containers of this process that may remain. */
export async function removeLeft(daemon: Daemon): Promise<void> {
  const own = [...left].filter(([, { address }]) => address === daemon.address);
  await Promise.all(
    own.map(async ([id, { since }]) => {
      const removed = await removeContainer(daemon, id);
      // A container that is not there yet may still come.
      if (removed && now() - since > LATE_MS) left.delete(id);
    }),
  );
}

/**
 * Removes containers whose host has ended. Also removes containers of this process that may
 * remain. An idle guest ends with its host; a busy guest may not notice. Hosts on other machines cannot be checked, so
 * their containers are kept.
 */
export async function removeLeftovers(daemon: Daemon): Promise<void> {
  removeLeftFolders();
  const filters = { label: [`${MACHINE}=${hostMachine()}`] };
  const containers: unknown = await daemon.ask((docker, abortSignal) =>
    docker.listContainers({ all: true, filters, abortSignal }),
  );
  if (!Array.isArray(containers)) throw daemon.unexpectedAnswer("about its containers");
  const abandoned = containers.flatMap((container: unknown) => {
    const host = textOf(fieldOf(container, "Labels"), HOST);
    return host !== undefined && isGone(host) ? (textOf(container, "Id") ?? []) : [];
  });
  await Promise.all(abandoned.map((id) => removeContainer(daemon, id)));
  await removeLeft(daemon);
}
