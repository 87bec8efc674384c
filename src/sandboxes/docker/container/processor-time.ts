import { join } from "node:path";
import { readIfThere } from "../../host-process.ts";
import type { Daemon } from "../daemon.ts";

const CONTROL_GROUPS = "/sys/fs/cgroup";

/** Processor time of a container on this machine, read from its control group's files. */
export function processorTime(read: () => number | undefined) {
  let baseMs = 0;
  let lastMs = 0;
  const begin = (): void => {
    baseMs = read() ?? 0;
    lastMs = 0;
  };
  begin();
  return {
    begin,

    /** Milliseconds since `begin`; never falls. After the container's end this is the last reading. */
    get ms(): number {
      return (lastMs = Math.max(lastMs, (read() ?? 0) - baseMs));
    },
  };
}

export type ProcessorTime = ReturnType<typeof processorTime>;

/** Undefined if the daemon runs on another machine, or the files cannot be read. */
export async function findProcessorTime(daemon: Daemon, name: string): Promise<ProcessorTime | undefined> {
  if (!(await daemon.sharesMachine())) return undefined;
  const { Id: id, State: state } = await daemon.ask((docker, abortSignal) =>
    docker.getContainer(name).inspect({ abortSignal }),
  );
  const read = processorReading(readIfThere(`/proc/${state.Pid}/cgroup`) ?? "", id);
  return read && processorTime(read);
}

/**
 * Returns a function that reads the processor time of a container's control group, in milliseconds. `membership` is the
 * text of `/proc/PID/cgroup` of a process in the container. Undefined if the group has no readable file, or is not the
 * container's, because the process id belongs to another process namespace.
 */
export function processorReading(
  membership: string,
  id: string,
  folder = CONTROL_GROUPS,
): (() => number | undefined) | undefined {
  const readings = membership.split("\n").flatMap((line) => {
    const [, controllers, path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    const parts = path.split("/");
    if (controllers === undefined || id === "" || !path.includes(id) || parts.includes("..")) return [];
    if (controllers === "") return [() => microseconds(readIfThere(join(folder, path, "cpu.stat")))];
    if (!controllers.split(",").includes("cpuacct")) return [];
    return [controllers, "cpuacct"].map(
      (name) => () => nanoseconds(readIfThere(join(folder, name, path, "cpuacct.usage"))),
    );
  });
  return readings.find((read) => read() !== undefined);
}

function microseconds(statistics: string | undefined): number | undefined {
  const [, usage] = /^usage_usec (\d+)$/m.exec(statistics ?? "") ?? [];
  return usage === undefined ? undefined : Number(usage) / 1e3;
}

function nanoseconds(usage: string | undefined): number | undefined {
  return usage !== undefined && /^\d+\n$/.test(usage) ? Number(usage) / 1e6 : undefined;
}
