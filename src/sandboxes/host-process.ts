import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** This process, for what it starts to carry: its id, and when it was started, for process ids are used again. */
export function hostProcess(): string {
  return `${process.pid}:${startTime(process.pid) ?? ""}`;
}

/** Whether a process that `hostProcess` described, on this machine, is gone. Where that cannot be known it is not. */
export function isGone(host: string): boolean {
  const [pid = "", start = ""] = host.split(":");
  return start !== "" && startTime(Number(pid)) !== start;
}

/** Where process ids mean the same as here: this start of this machine, and this process namespace. */
export function hostMachine(): string {
  const boot = readText("/proc/sys/kernel/random/boot_id")?.trim();
  const namespace = processNamespace("self");
  return boot === undefined || namespace === undefined ? hostname() : `${boot}/${namespace}`;
}

/** When a process was started, in clock ticks since the machine was: field 22 of its stat file (proc(5)). */
function startTime(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
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
