import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** The format of `hostProcess`: a process id and a start time. */
const HOST = /^([1-9]\d{0,9}):(\d+)$/;

/**
 * Identifies this process in what it starts: its id and its start time, because process ids are reused. The start time
 * is left out if this machine cannot be identified, because its process ids could be confused with another machine's.
 */
export function hostProcess(): string {
  return `${process.pid}:${(machine() !== undefined && startTime(process.pid)) || ""}`;
}

/**
 * Whether a process of this machine, as `hostProcess` identifies it, has ended. If that is unknown, returns false. /proc
 * may hide other users' processes (`hidepid`); signal 0 then still shows whether a process has the id.
 */
export function isGone(host: string, system = SYSTEM): boolean {
  const [, pid, start] = HOST.exec(host) ?? [];
  if (pid === undefined) return false;
  const found = system.startTime(Number(pid));
  return found === undefined ? !system.exists(Number(pid)) : found !== start;
}

/** The system's view of processes, which a test may replace: a process may be hidden from this user. */
const SYSTEM = { startTime, exists };

/** Identifies the scope in which process ids are unique: this boot of this machine, and this process namespace. */
export function hostMachine(): string {
  return machine() ?? hostname();
}

function machine(): string | undefined {
  const boot = readIfThere("/proc/sys/kernel/random/boot_id")?.trim();
  const namespace = processNamespace();
  return boot === undefined || namespace === undefined ? undefined : `${boot}/${namespace}`;
}

/** When a process was started, in clock ticks since boot: field 22 of its stat file (proc(5)). */
function startTime(pid: number): string | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

/** Whether a process of any user has this id. Signal 0 is not delivered; only ESRCH means that there is no process. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** The first child of a process; undefined if it has none, or has ended. */
export function childOf(pid: number): number | undefined {
  return Number.parseInt(readIfThere(`/proc/${pid}/task/${pid}/children`) ?? "", 10) || undefined;
}

export function processNamespace(): string | undefined {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return undefined;
  }
}

export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
