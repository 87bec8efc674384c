import { removeContainer } from "../../src/sandboxes/docker/leftovers.ts";
import { Daemon } from "../../src/sandboxes/docker/daemon.ts";

/** Containers that belong to a host process, whatever state they are in. */
export async function containersOf(hostPid: number = process.pid): Promise<readonly string[]> {
  const filters = { label: ["portcullis.host"] };
  const containers = await new Daemon().ask((docker) => docker.listContainers({ all: true, filters }));
  return containers.flatMap(({ Id: id, Labels: labels }) =>
    labels["portcullis.host"]?.startsWith(`${hostPid}:`) ? [id] : [],
  );
}

/** Removes those that a test has left, so that the next one does not find them. */
export async function removeContainersOf(hostPid: number = process.pid): Promise<void> {
  const left = await containersOf(hostPid);
  await Promise.all(left.map((id) => removeContainer(new Daemon(), id)));
}
