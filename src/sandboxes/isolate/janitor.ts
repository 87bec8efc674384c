import { readFileSync, readdirSync, readlinkSync } from "node:fs";

const MARK = "--portcullis-host=";

/** Argument that every engine carries: which process it belongs to, and when that was started, for process ids are used again. */
export function hostMark(): string {
  return `${MARK}${process.pid}:${startTime(process.pid) ?? ""}`;
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
  if (mark === undefined) return false;
  const [hostPid = "", hostStart = ""] = mark.slice(MARK.length).split(":");
  return hostStart !== "" && startTime(Number(hostPid)) !== hostStart;
}

/** When a process was started, in clock ticks since the machine was: field 22 of its stat file (proc(5)). */
function startTime(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

function processNamespace(pid: number | "self"): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
