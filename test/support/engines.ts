import { readdirSync, readFileSync } from "node:fs";

/** Process ids of the engines that belong to a host process, from /proc, without their launchers. */
export function enginesOf(hostPid: number = process.pid): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      const words = Number.isInteger(pid) ? commandLine(pid).split("\0") : [];
      return !words.includes("--") && words.some((word) => word.startsWith(`--portcullis-host=${hostPid}:`));
    });
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
