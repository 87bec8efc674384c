import { readdirSync } from "node:fs";
import { hostProcess, isGone, processNamespace, readText } from "../host-process.ts";

const MARK = "--portcullis-host=";

/** Command-line argument of every engine, which names the host process it belongs to. */
export function hostMark(): string {
  return `${MARK}${hostProcess()}`;
}

/**
 * Ends engines whose host has ended, and returns how many. Engines normally end with their host; this is for an engine
 * that could not, because it was stopped or swapped out. Needs /proc, and ends only engines in this process's
 * namespace that this user may signal.
 */
export function endOrphans(): number {
  const namespace = processNamespace("self");
  if (namespace === undefined) return 0;
  let ended = 0;
  for (const entry of readdirSync("/proc")) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || !isOrphan(pid) || processNamespace(pid) !== namespace) continue;
    try {
      process.kill(pid, "SIGKILL");
      ended += 1;
    } catch {
      // The process has ended, or belongs to another user, whose own host will end it.
    }
  }
  return ended;
}

function isOrphan(pid: number): boolean {
  const mark = readText(`/proc/${pid}/cmdline`)
    ?.split("\0")
    .find((argument) => argument.startsWith(MARK));
  return mark !== undefined && isGone(mark.slice(MARK.length));
}
