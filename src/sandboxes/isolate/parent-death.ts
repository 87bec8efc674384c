import { spawnSync } from "node:child_process";

export interface ParentDeathCommand {
  readonly command: string;
  readonly prefix: readonly string[];
  /** Who ends an engine whose host is gone: the kernel, or a thread of the engine. */
  readonly mode: "kernel" | "watch";
}

let found: ParentDeathCommand | undefined;

/**
 * How to start an engine so that it dies with its host, even while it is busy. Linux can do that itself, by
 * way of `setpriv` of util-linux; elsewhere a thread of the engine waits for the end of a pipe, which costs
 * each engine 11 MB.
 */
export function parentDeathCommand(): ParentDeathCommand {
  found ??= kernelCommand() ?? watchCommand();
  return found;
}

export function watchCommand(): ParentDeathCommand {
  return { command: process.execPath, prefix: [], mode: "watch" };
}

function kernelCommand(): ParentDeathCommand | undefined {
  if (process.platform !== "linux") return undefined;
  const prefix = ["--pdeathsig", "KILL", "--"];
  const tried = spawnSync("setpriv", [...prefix, "true"], { stdio: "ignore", timeout: 2000 });
  return tried.status === 0 ? { command: "setpriv", prefix: [...prefix, process.execPath], mode: "kernel" } : undefined;
}
