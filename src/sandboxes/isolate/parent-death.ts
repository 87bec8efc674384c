import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

export interface ParentDeathCommand {
  readonly command: string;
  readonly prefix: readonly string[];
  /** Whether the kernel or a thread of the engine (`watch`) ends an engine after its host has ended. */
  readonly mode: "kernel" | "watch";
}

let found: ParentDeathCommand | undefined;

/**
 * How to start an engine so that it ends with its host, even while it is busy. On Linux the kernel does this, set up
 * with `setpriv` of util-linux. Elsewhere a thread of each engine waits for the end of a pipe, which costs 11 MB per
 * engine.
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
  // An engine is started without a PATH, so the path of the command must be absolute.
  const folders = (process.env.PATH ?? "").split(delimiter).filter(isAbsolute);
  const command = folders.map((folder) => join(folder, "setpriv")).find((file) => existsSync(file));
  if (command === undefined) return undefined;
  const prefix = ["--pdeathsig", "KILL", "--"];
  // `setpriv` runs itself as a trial: starting node would take the host's thread for 40 ms.
  const tried = spawnSync(command, [...prefix, command, "--version"], {
    stdio: "ignore",
    timeout: 5000,
    env: {},
  });
  return tried.status === 0 ? { command, prefix: [...prefix, process.execPath], mode: "kernel" } : undefined;
}
