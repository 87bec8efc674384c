import { join } from "node:path";
import { readText } from "../host-process.ts";
import type { Daemon } from "./daemon.ts";

const CONTROL_GROUPS = "/sys/fs/cgroup";

/** Processor time of a container on this machine, by the kernel's files of its control group. */
export class ProcessorTime {
  readonly #read: () => number | undefined;
  #baseMs = 0;
  #lastMs = 0;

  constructor(read: () => number | undefined) {
    this.#read = read;
    this.begin();
  }

  /** Undefined where the daemon runs elsewhere, or the files cannot be seen from here. */
  static async of(daemon: Daemon, name: string): Promise<ProcessorTime | undefined> {
    if (!(await daemon.sharesMachine())) return undefined;
    const { Id: id, State: state } = await daemon.ask((docker, abortSignal) =>
      docker.getContainer(name).inspect({ abortSignal }),
    );
    const read = processorReading(readText(`/proc/${state.Pid}/cgroup`) ?? "", id);
    return read && new ProcessorTime(read);
  }

  /** Counts from now on: what came before was not the program's. */
  begin(): void {
    this.#baseMs = this.#read() ?? 0;
    this.#lastMs = 0;
  }

  /** Milliseconds, which never fall. After the container's end what was read last. */
  get ms(): number {
    this.#lastMs = Math.max(this.#lastMs, (this.#read() ?? 0) - this.#baseMs);
    return this.#lastMs;
  }
}

/**
 * How to read the processor time of a container's control group in milliseconds, by what the kernel says of a process in
 * it (`/proc/PID/cgroup`). Undefined where none of its files is there, or the group is not the container's: then the
 * process id was that of another process namespace.
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
    if (controllers === "") return [() => microseconds(readText(join(folder, path, "cpu.stat")))];
    if (!controllers.split(",").includes("cpuacct")) return [];
    return [controllers, "cpuacct"].map(
      (name) => () => nanoseconds(readText(join(folder, name, path, "cpuacct.usage"))),
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
