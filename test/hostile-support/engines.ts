import { readdirSync, readFileSync } from "node:fs";

const MARK = "--portcullis-host=";
/** Length of a clock tick in /proc, the same on every Linux that node is built for. */
const TICK_MS = 10;

/** Ids of the processes that are engines of this host, whatever state they are in but dead; of those with `mark` in their command lines. */
export function enginesOf(hostPid: number, mark = ""): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      const command = Number.isInteger(pid) ? readText(`/proc/${pid}/cmdline`) : "";
      return command.includes(`${MARK}${hostPid}:`) && command.includes(mark);
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

/** Milliseconds that this process's main thread was ready to run and had no core: the machine's load, as this thread met it. */
export function waitedMs(): number {
  return Number(readText(`/proc/${process.pid}/task/${process.pid}/schedstat`).split(" ")[1]) / 1e6;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
