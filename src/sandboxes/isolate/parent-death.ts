import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

export interface ParentDeathCommand {
  readonly command: string;
  readonly prefix: readonly string[];
  /** Whether the kernel or a thread of the engine (`watch`) ends an engine after its host has ended. */
  readonly mode: "kernel" | "watch";
}

/** The command that is known to work here. */
let known: ParentDeathCommand | undefined;

/**
 * How to start an engine so that it ends with its host, even while it is busy. On Linux the kernel does this, set up
 * with `setpriv` of util-linux. Elsewhere a thread of each engine waits for the end of a pipe, which costs 11 MB per
 * engine.
 */
export function parentDeathCommand(): ParentDeathCommand {
  known ??= triedCommand() ?? watchCommand();
  return known;
}

/** The same for an engine, which tries the command itself: a trial before it would take the host 3 ms or more. */
export function startCommand(): ParentDeathCommand {
  return known ?? kernelCommand() ?? watchCommand();
}

/** An engine that was started in this way is ready. */
export function noteReady(command: ParentDeathCommand): void {
  known ??= command;
}

/** Whether engines cannot be started in this way here; asked if one was not ready. Tries the command unless it is known to work. */
export function isRefuted(command: ParentDeathCommand): boolean {
  return parentDeathCommand().mode !== command.mode;
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
  return { command, prefix: ["--pdeathsig", "KILL", "--", process.execPath], mode: "kernel" };
}

function triedCommand(): ParentDeathCommand | undefined {
  const found = kernelCommand();
  if (!found) return undefined;
  // `setpriv` runs itself as a trial: starting node would take the host's thread for 40 ms.
  const tried = spawnSync(found.command, [...found.prefix.slice(0, -1), found.command, "--version"], {
    stdio: "ignore",
    timeout: 5000,
    env: {},
  });
  return tried.status === 0 ? found : undefined;
}
