import { readdirSync } from "node:fs";
import { hostProcess, isGone, processNamespace, readIfThere } from "../host-process.ts";

const MARK = "--portcullis-host=";

/** Command-line argument of every engine, which names the host process it belongs to, and the namespace of that process. */
export function hostMark(): string {
  return `${MARK}${hostProcess()}@${processNamespace() ?? ""}`;
}

/**
 * Ends engines whose host has ended. Engines normally end with their host; this is for an engine
 * that could not, because it was stopped or swapped out. Needs /proc, and ends only engines of hosts in this process's
 * namespace that this user may signal. The engines themselves may be in namespaces of their own.
 */
export function endOrphans(): void {
  const namespace = processNamespace();
  if (namespace === undefined) return;
  for (const entry of readdirSync("/proc")) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || !isOrphan(pid, namespace)) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has ended, or belongs to another user, whose own host will end it.
    }
  }
}

function isOrphan(pid: number, namespace: string): boolean {
  const words = readIfThere(`/proc/${pid}/cmdline`)?.split("\0") ?? [];
  const mark = words.find((word) => word.startsWith(MARK))?.slice(MARK.length);
  // A launcher has the command of its engine behind this word, and ends with it.
  if (mark === undefined || words.includes("--")) return false;
  const [host = "", of] = mark.split("@");
  return of === namespace && isGone(host);
}
