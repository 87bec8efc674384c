import { readdirSync, readFileSync } from "node:fs";

const MARK = "--portcullis-host=";
/** Length of a clock tick in /proc, the same on every Linux that node is built for. */
const TICK_MS = 10;

/** Ids of the processes that are engines of this host, without their launchers, whatever state they are in but dead; of those with `mark` in their command lines. */
export function enginesOf(hostPid: number, mark = ""): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      const command = Number.isInteger(pid) ? readText(`/proc/${pid}/cmdline`) : "";
      return command.includes(`${MARK}${hostPid}:`) && command.includes(mark) && !command.split("\0").includes("--");
    });
}

/** CPU time that all threads of a process have taken, in milliseconds; 0 once it has gone. */
export function cpuMs(pid: number): number {
  const stat = readText(`/proc/${pid}/stat`);
  const [userTicks = 0, systemTicks = 0] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return (userTicks + systemTicks) * TICK_MS;
}

/**
 * Milliseconds that each thread of this process, by its id, was ready to run and had no core: the machine's load, as this
 * process met it. The id of the main thread is that of the process.
 */
export function waitedMs(): ReadonlyMap<number, number> {
  const threads = readdirSync(`/proc/${process.pid}/task`).map(Number);
  return new Map(
    threads.map((id) => [id, Number(readText(`/proc/${process.pid}/task/${id}/schedstat`).split(" ")[1] ?? 0) / 1e6]),
  );
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
