import { readdirSync, readFileSync } from "node:fs";

/** Process ids of the engines that belong to a host process, from /proc. */
export function enginesOf(hostPid: number = process.pid): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && commandLine(pid).includes(`--portcullis-host=${hostPid}:`));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
