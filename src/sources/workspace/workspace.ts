import { constants, lstatSync, realpathSync } from "node:fs";
import { type FileHandle, lstat, open, opendir, readlink, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, sep, win32 } from "node:path";
import { Lane, optionError, Pace, PortcullisError } from "../../base/index.ts";
import type { Glob } from "./glob.ts";

const PATH_LENGTH = 4096;
export const MAX_ENTRIES = 200_000;

const IS_LINUX = process.platform === "linux";
/** Opening fails if the last part of the path is a link; on macOS, with O_NOFOLLOW_ANY of its <fcntl.h>, if any part is. */
const NO_LINK = process.platform === "darwin" ? 0x2000_0000 : (constants.O_NOFOLLOW ?? 0);

export const PASSED_OVER = ["links", "unreadable", "binary", "longFiles", "longLines", "costlyPaths"] as const;

/** What a search has not looked at, and why: how many of each. Empty if it has seen all. */
export type PassedOver = Partial<Record<(typeof PASSED_OVER)[number], number>>;

/** A search through folders: what it passes over, and whether it had to end early. */
export class Search {
  readonly passedOver: PassedOver = {};
  entries = 0;
  readonly #pace: Pace;
  readonly #signal: AbortSignal;

  constructor(tenant: string, signal: AbortSignal) {
    this.#pace = new Pace(new Lane(tenant));
    this.#signal = signal;
  }

  get isCut(): boolean {
    return this.entries > MAX_ENTRIES;
  }

  /** Lets others have the thread. Rejects once the call is given up. */
  async next(): Promise<void> {
    await this.#pace.rest();
    this.#signal.throwIfAborted();
  }

  pass(why: keyof PassedOver): void {
    this.passedOver[why] = (this.passedOver[why] ?? 0) + 1;
  }
}

/**
 * The files below a root. A path from a model leads to a file below the root and nowhere else: absolute paths, `..` and
 * links are refused, and a file or folder is looked at only if it lies at its path by what the kernel says of it once it is
 * open. What `exclude` means does not exist here. A place is a path from the root, with slashes; empty for the root itself.
 */
export class Workspace {
  readonly #root: string;
  readonly #exclude: readonly Glob[];

  /** Throws `option_invalid` if the root is no folder. */
  constructor(root: string, exclude: readonly Glob[]) {
    this.#root = realFolder(root);
    this.#exclude = exclude;
  }

  /** Throws `tool_failed` for a path that does not lead to a place below the root. */
  place(path: string): string {
    if (path.length > PATH_LENGTH || path.includes("\0"))
      throw toolFailure(`A path has up to ${PATH_LENGTH} characters, and no character 0.`);
    if (isAbsolute(path) || win32.isAbsolute(path))
      throw pathFailure(path, ": paths are relative to the workspace, like src/index.ts.");
    const parts = path.split(sep === "/" ? "/" : /[\\/]/).filter((part) => part !== "" && part !== ".");
    const inner = relative(this.#root, join(this.#root, ...parts));
    if (parts.includes("..") || isAbsolute(inner) || inner.split(/[\\/]/, 1)[0] === "..")
      throw pathFailure(path, ' leads out of the workspace: write the path from its root, without "..".');
    const whole = parts.join("/");
    // A path at which a pattern is too costly is kept too: else such a path would get round it.
    if (this.#exclude.some((glob) => glob.covers(whole) ?? true))
      throw pathFailure(whole, " is kept from these tools.");
    return whole;
  }

  #full(place: string): string {
    return join(this.#root, place);
  }

  /** Whether a place is a folder. Rejects with `tool_failed` if it is neither a folder nor a file, or a link. */
  async isFolder(path: string): Promise<boolean> {
    const full = this.#full(path);
    try {
      await refuseLinks(path, full);
      const there = await lstat(full);
      if (there.isDirectory() || there.isFile()) return there.isDirectory();
    } catch (error) {
      throw faultOf(error, path);
    }
    throw pathFailure(path, " is no file and no folder.");
  }

  /** The bytes of a file. Rejects with `tool_failed` for anything else, and for a file of more than `maxBytes`. */
  async read(path: string, maxBytes: number): Promise<Buffer> {
    try {
      await using file = await this.#open(path);
      const opened = await file.stat();
      if (opened.isDirectory()) throw pathFailure(path, " is a folder: list_files shows what is in it.");
      if (!opened.isFile()) throw pathFailure(path, " is no file.");
      if (opened.size > maxBytes) throw new LongFile(path, opened.size, maxBytes);
      return await readAll(file, opened.size);
    } catch (error) {
      throw faultOf(error, path);
    }
  }

  /** Opens a file or folder. Rejects with `tool_failed` unless it lies at its path: another process may move folders meanwhile. */
  async #open(path: string): Promise<FileHandle> {
    const full = this.#full(path);
    await refuseLinks(path, full);
    // Without waiting for the other end of a pipe.
    const file = await open(full, constants.O_RDONLY | NO_LINK | (constants.O_NONBLOCK ?? 0));
    try {
      if (await liesAt(file, path, full)) return file;
      throw pathFailure(path, " was replaced while it was opened: try again.");
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** The entries of a folder in the order of their names, without links and what is excluded. Folders end with a slash. */
  async entries(path: string, search: Search): Promise<readonly string[]> {
    const full = this.#full(path);
    const names: string[] = [];
    try {
      await using opened = IS_LINUX ? await this.#open(path) : undefined;
      if (!opened) await refuseLinks(path, full);
      await using folder = await opendir(opened ? linkOf(opened) : full);
      for await (const entry of folder) {
        await search.next();
        if (this.#isExcluded(below(path, entry.name))) continue;
        search.entries += 1;
        if (search.isCut) break;
        if (entry.isSymbolicLink()) search.pass("links");
        else if (entry.isDirectory() || entry.isFile()) names.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
        else search.pass("unreadable");
      }
      await refuseLinks(path, full);
    } catch (error) {
      throw faultOf(error, path);
    }
    return sortedNames(names, () => search.next());
  }

  /** All files below a folder, in the order of their paths. A folder inside it that cannot be read is passed over. */
  async *files(from: string, search: Search): AsyncGenerator<string> {
    const open: string[] = [""];
    for (let inner = open.pop(); inner !== undefined; inner = open.pop()) {
      if (inner !== "" && !inner.endsWith("/")) {
        yield below(from, inner);
        continue;
      }
      if (search.isCut) return;
      const folder = inner === "" ? from : below(from, inner.slice(0, -1));
      const names = await this.entries(folder, search).catch((error: unknown) => {
        if (inner === "" || !PortcullisError.is(error)) throw error;
        search.pass("unreadable");
        return [];
      });
      for (const name of names.toReversed()) open.push(inner + name);
    }
  }

  #isExcluded(path: string): boolean {
    return this.#exclude.some((glob) => glob.matches(path) ?? true);
  }
}

export function toolFailure(message: string): PortcullisError {
  return new PortcullisError("tool_failed", message);
}

/** `what` is told of the path, which stands before it. */
export function pathFailure(path: string, what: string): PortcullisError {
  return toolFailure(`${quotedPath(path)}${what}`);
}

/** A file that is too large to be read. */
export class LongFile extends PortcullisError {
  constructor(path: string, size: number, maxBytes: number) {
    super("tool_failed", `${quotedPath(path)} has ${size} bytes; files of up to ${maxBytes} bytes are read.`);
  }
}

function quotedPath(path: string): string {
  return path === ""
    ? "The root of the workspace"
    : JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}

function realFolder(root: string): string {
  try {
    const real = realpathSync(root);
    if (lstatSync(real).isDirectory()) return real;
  } catch {
    // It is no folder either.
  }
  throw optionError("workspaceTools({ root })", "the path of a folder", root);
}

async function refuseLinks(path: string, full: string): Promise<void> {
  if ((await realpath(full)) !== full) throw behindLink(path);
}

function behindLink(path: string): PortcullisError {
  return pathFailure(
    path,
    " is a link, or lies behind one, or its name is written otherwise. Links are not followed: list_files shows what there is.",
  );
}

/** Where Linux says which file or folder an open one is. */
function linkOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}

/**
 * Whether an open file or folder is the one at its path. Linux is asked about the open one itself. macOS has followed no link
 * to it. Elsewhere the path is looked at again.
 */
async function liesAt(file: FileHandle, path: string, full: string): Promise<boolean> {
  if (IS_LINUX) return (await readlink(linkOf(file))) === full;
  await refuseLinks(path, full);
  const [opened, there] = await Promise.all([file.stat({ bigint: true }), lstat(full, { bigint: true })]);
  return there.dev === opened.dev && there.ino === opened.ino;
}

async function readAll(file: FileHandle, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(bytes, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

export function below(path: string, inner: string): string {
  return path === "" ? inner : `${path}/${inner}`;
}

/** What the file system says of a path, without where the workspace lies. */
function faultOf(error: unknown, path: string): unknown {
  if (PortcullisError.is(error) || !(error instanceof Error) || !("code" in error)) return error;
  const { code } = error;
  if (code === "ENOENT" || code === "ENOTDIR")
    return toolFailure(`There is no ${quotedPath(path)}: list_files shows what there is.`);
  if (code === "ELOOP") return behindLink(path);
  if (code === "ENAMETOOLONG") return pathFailure(path, ": this name is too long for a file.");
  return new PortcullisError("tool_failed", `${quotedPath(path)} cannot be read: ${String(code)}.`, { cause: error });
}

/** Names that are sorted at once, and steps of a merge between two pauses. */
const RUN = 2000;

/** Names in their order. Hundreds of thousands that begin alike take long: `pause` may give the thread to others. */
async function sortedNames(names: readonly string[], pause: () => Promise<void>): Promise<readonly string[]> {
  await pause();
  if (names.length <= RUN) return names.toSorted();
  const half = names.length >>> 1;
  const one = await sortedNames(names.slice(0, half), pause);
  const other = await sortedNames(names.slice(half), pause);
  const merged: string[] = [];
  for (let [left, right] = [0, 0]; merged.length < names.length;) {
    const [a, b] = [one[left]!, other[right]!];
    const isOne = right === other.length || (left < one.length && a <= b);
    merged.push(isOne ? a : b);
    if (isOne) left += 1;
    else right += 1;
    if (merged.length % RUN === 0) await pause();
  }
  return merged;
}
