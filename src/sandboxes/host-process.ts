import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** As `hostProcess` writes it: a process id, and a start time. */
const HOST = /^([1-9]\d{0,9}):(\d+)$/;

/**
 * This process, for what it starts to carry: its id, and when it was started, for process ids are used again. Without
 * the start time where other machines' process ids could be taken for this one's.
 */
export function hostProcess(): string {
  return `${process.pid}:${(machine() !== undefined && startTime(process.pid)) || ""}`;
}

/**
 * Whether a process that `hostProcess` described, on this machine, is gone. Where that cannot be known it is not: /proc
 * may hide other users' processes (`hidepid`), and then the kernel still says whether one has the id.
 */
export function isGone(host: string, look: ProcessLook = LOOK): boolean {
  const [, pid, start] = HOST.exec(host) ?? [];
  if (pid === undefined) return false;
  const found = look.startTime(Number(pid));
  return found === undefined ? !look.exists(Number(pid)) : found !== start;
}

/** How processes are looked at; a test may stand in for the system. */
export interface ProcessLook {
  /** Undefined where there is no such process, or it may not be seen. */
  startTime(pid: number): string | undefined;
  exists(pid: number): boolean;
}

const LOOK: ProcessLook = { startTime, exists };

/** Where process ids mean the same as here: this start of this machine, and this process namespace. */
export function hostMachine(): string {
  return machine() ?? hostname();
}

function machine(): string | undefined {
  const boot = readText("/proc/sys/kernel/random/boot_id")?.trim();
  const namespace = processNamespace("self");
  return boot === undefined || namespace === undefined ? undefined : `${boot}/${namespace}`;
}

/** When a process was started, in clock ticks since the machine was: field 22 of its stat file (proc(5)). */
function startTime(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

/** Whether any process has this id, another user's too: signal 0 is not delivered, and only ESRCH says that there is none. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

export function processNamespace(pid: number | "self"): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}

export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
