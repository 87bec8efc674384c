import { readdirSync } from "node:fs";
import { hostProcess, isGone, processNamespace, readText } from "../host-process.ts";

const MARK = "--portcullis-host=";

/** Argument that every engine carries: which process it belongs to. */
export function hostMark(): string {
  return `${MARK}${hostProcess()}`;
}

/**
 * Ends engines whose host is gone, and returns how many there were. Engines end themselves with their host; this
 * is for one that could not, because it was stopped or swapped out. Only where there is a /proc to look into,
 * only in the process namespace of this process, and only what this user may end.
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
      // It has gone by itself, or belongs to another user, whose own host will see to it.
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
