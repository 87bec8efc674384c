import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

/** Write permission of the group and of all users, and the bit that keeps entries to their owners. */
const SHARED = 0o022;
const STICKY = 0o1000;

/**
 * The folder in which node keeps compiled code, which it runs without a look at the source. Undefined if the user has none, or if
 * another user may write to the folder or put another one in its place: `sudo` may leave a command the home of another user.
 */
export function compileFolder(
  cache = process.env["XDG_CACHE_HOME"] ?? "",
  home: () => string = homedir,
): string | undefined {
  try {
    // A relative path would lead to code in whatever folder a command is started in.
    const base = isAbsolute(cache) ? cache : join(home(), ".cache");
    if (!isAbsolute(base)) return undefined;
    const folder = join(base, "portcullis/compile");
    makeFolder(folder);
    const real = realpathSync(folder);
    return isOwn(real) && isUnshared(real) ? real : undefined;
  } catch {
    // Without a home, or in one that cannot be written, a command starts as slowly as its first time.
    return undefined;
  }
}

/** Makes a folder for this user alone, and those above it. Nothing is made in a folder that is not this user's own. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const above = dirname(path);
  makeFolder(above);
  if (isOwn(realpathSync(above))) mkdirSync(path, { mode: 0o700 });
}

/** Whether only this user and the superuser can change what is at this real path. */
function isOwn(path: string): boolean {
  const user = process.geteuid?.();
  if (user === undefined) return true;
  const { uid, mode } = statSync(path);
  // oxlint-disable-next-line no-bitwise -- the bits of a mode
  const keepsEntries = (mode & SHARED) === 0 || (mode & STICKY) !== 0;
  const isTrusted = (uid === user || uid === 0) && keepsEntries;
  return isTrusted && (dirname(path) === path || isOwn(dirname(path)));
}

function isUnshared(path: string): boolean {
  // oxlint-disable-next-line no-bitwise -- the bits of a mode
  return process.geteuid === undefined || (statSync(path).mode & SHARED) === 0;
}
