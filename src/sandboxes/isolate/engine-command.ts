import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFile } from "../../base/index.ts";
import { findAddon } from "./platform.ts";

/** How an engine is started, and what its process may do if a program gets out of V8. */
export interface EngineCommand {
  readonly command: string;
  readonly prefix: readonly string[];
  /** Whether the kernel or a thread of the engine (`watch`) ends an engine after its host has ended. */
  readonly mode: "kernel" | "watch";
  /** What the kernel keeps from the process; nothing by default. */
  readonly parts?: readonly WallPart[];
}

/**
 * Parts of the wall around an engine, those that hold most first. In `namespaces` of its own the process that is started is the
 * launcher of the engine. `landlock` keeps all files but those that node needs from it, `noSockets` (seccomp) all sockets,
 * `ownProc` the files of other processes in /proc, and `capless` the capabilities of a host that is root.
 */
const PARTS = ["namespaces", "landlock", "noSockets", "ownProc", "capless"] as const;
export type WallPart = (typeof PARTS)[number];

/**
 * What an engine has instead of the host's environment. With a fixed threshold glibc gives the memory of large texts
 * back when they are freed. Else it keeps more with each text, until the engine keeps too much to be used again.
 */
export const ENVIRONMENT = {
  TZ: "UTC",
  LC_ALL: "C.UTF-8",
  LANG: "C.UTF-8",
  MALLOC_MMAP_THRESHOLD_: String(128 * 1024),
  // Node ends if it may not read the machine's configuration of OpenSSL.
  OPENSSL_CONF: "/dev/null",
};

/** Folders of the libraries that node is linked to. */
const LIBRARIES = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"];

let choice: EngineCommand | undefined;

/**
 * How engines are started here: the first of these ways that works. On Linux `setpriv` and `unshare` of util-linux have
 * the kernel end an engine with its host, even while it is busy, and keep the machine from it. Elsewhere a thread of each
 * engine waits for the end of a pipe, which costs 11 MB per engine.
 */
export function engineCommand(): EngineCommand {
  choice ??= kernelCommands().find(works) ?? watchCommand();
  return choice;
}

/** The same for an engine, which tries the command itself: a trial before it would take the host 3 ms or more. */
export function startCommand(): EngineCommand {
  return choice ?? kernelCommands().next().value ?? watchCommand();
}

/** An engine that was started in this way is ready. */
export function noteReady(command: EngineCommand): void {
  choice ??= command;
}

/** Whether engines cannot be started in this way here; asked if one was not ready. Tries the command unless it is known to work. */
export function isRefuted(command: EngineCommand): boolean {
  return engineCommand().prefix.join("\0") !== command.prefix.join("\0");
}

export function watchCommand(): EngineCommand {
  return { command: process.execPath, prefix: [], mode: "watch" };
}

/** The files that an engine reads: its own, the guest, its globals and the binary of isolated-vm, which it may not look for itself. */
export function engineFiles(): readonly string[] {
  return [
    fileURLToPath(new URL("./engine.cjs", import.meta.url)),
    packageFile("#guest/guest.js"),
    packageFile("#guest/globals.js"),
    findAddon(),
  ];
}

/** The ways in which the kernel may help, the strongest first. Each is made once it is asked for: an engine starts with the first. */
function* kernelCommands(): Generator<EngineCommand, undefined> {
  const setpriv = process.platform === "linux" ? found("setpriv") : undefined;
  if (setpriv === undefined) return undefined;
  // The host finds the engine of a launcher among its children, which not every kernel lists.
  const unshare = existsSync(`/proc/self/task/${process.pid}/children`) ? found("unshare") : undefined;
  const options = optionsOf(setpriv);
  const isPossible = (parts: readonly WallPart[]) =>
    parts.every((part) => {
      if (part === "namespaces") return unshare !== undefined;
      if (part === "landlock") return options.includes("--landlock-access");
      if (part === "noSockets") return options.includes("--seccomp-filter");
      // Landlock allows no mount, and keeps files of /proc from the engine anyway.
      if (part === "ownProc") return parts.includes("namespaces") && !parts.includes("landlock");
      // In namespaces of its own an engine has none anyway.
      return !parts.includes("namespaces") && process.geteuid?.() === 0;
    });
  const commandOf = (parts: readonly WallPart[]): EngineCommand => {
    const launcher = parts.includes("namespaces") && unshare !== undefined ? [unshare, ...NAMESPACES] : [];
    if (parts.includes("ownProc")) launcher.push("--mount-proc");
    const prefix = [
      "--no-new-privs",
      "--pdeathsig",
      "KILL",
      ...(parts.includes("capless") ? ["--bounding-set=-all", "--inh-caps=-all"] : []),
      ...(parts.includes("landlock") ? landlockOptions(launcher[0]) : []),
      ...(parts.includes("noSockets") ? ["--seccomp-filter", noSockets()] : []),
      "--",
      ...launcher,
      ...(launcher.length > 0 ? ["--"] : []),
      process.execPath,
    ];
    return { command: setpriv, prefix, mode: "kernel", parts };
  };
  for (const parts of allParts()) if (isPossible(parts)) yield commandOf(parts);
  return undefined;
}

function allParts(): readonly (readonly WallPart[])[] {
  return Array.from({ length: 2 ** PARTS.length }, (_, mask) =>
    PARTS.filter((_part, index) => ((mask >> (PARTS.length - 1 - index)) & 1) === 0),
  );
}

/** A filter of system calls that refuses sockets, as the kernel reads it; a test has its instructions. */
const noSockets = () => fileURLToPath(new URL("./no-sockets.bin", import.meta.url));

/** The user has no id there: the process has no capability, and cannot get one in a further namespace. */
const NAMESPACES = ["--user", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child=KILL"];

/** An engine is started without a PATH, so the path of a command must be absolute. */
function found(name: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** The file of `setpriv`, which has the names of its options: those of Landlock since 2.40. To ask it would take the host's thread longer. */
function optionsOf(setpriv: string): Buffer {
  try {
    return engineFiles().length > 0 ? readFileSync(setpriv) : Buffer.alloc(0);
  } catch {
    // What is missing is reported by the engine that cannot start without it.
    return Buffer.alloc(0);
  }
}

function landlockOptions(unshare: string | undefined): readonly string[] {
  const run = [process.execPath, ...(unshare === undefined ? [] : [unshare])];
  const rules = [
    ...LIBRARIES.map((path) => ["execute,read-file,read-dir", path] as const),
    ...run.map((path) => ["execute,read-file", path] as const),
    ...["/etc/ld.so.cache", "/dev/null", ...engineFiles()].map((path) => ["read-file", path] as const),
  ];
  return [
    "--landlock-access",
    "fs",
    ...rules
      .filter(([, path]) => existsSync(path))
      .flatMap(([access, path]) => ["--landlock-rule", `path-beneath:${access}:${path}`]),
  ];
}

/** Whether node starts in this way. With Landlock it opens the addon as an engine does, which takes the host's thread longer. */
function works({ command, prefix, parts = [] }: EngineCommand): boolean {
  const addon = parts.includes("landlock") ? findAddon() : undefined;
  const trial =
    addon === undefined ? ["--version"] : ["--permission", "--allow-addons", `--allow-fs-read=${addon}`, addon];
  const tried = spawnSync(command, [...prefix, ...trial], { stdio: "ignore", timeout: 5000, env: ENVIRONMENT });
  return tried.status === 0;
}
