import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

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
  // Where it is has to be known: an engine is started without a PATH.
  const folders = (process.env.PATH ?? "").split(delimiter).filter(isAbsolute);
  const command = folders.map((folder) => join(folder, "setpriv")).find((file) => existsSync(file));
  if (command === undefined) return undefined;
  const prefix = ["--pdeathsig", "KILL", "--"];
  const tried = spawnSync(command, [...prefix, process.execPath, "--version"], {
    stdio: "ignore",
    timeout: 5000,
    env: {},
  });
  return tried.status === 0 ? { command, prefix: [...prefix, process.execPath], mode: "kernel" } : undefined;
}
