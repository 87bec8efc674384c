import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PortcullisError } from "../../../base/index.ts";
import { hostMachine, hostProcess, isGone, readIfThere } from "../../host-process.ts";

const PREFIX = "portcullis-mounted-";
/** Name of the mounted folder in its parent, which is not mounted. */
const INNER = "m";
/** Name of the file beside the folder that says whose it is. A container sees the folder's name in the path of its mounts. */
const OWNER = "host";
const ONLY_OURS = 0o700;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Creates a folder to be mounted into one container. Its parent is newly created, has an unpredictable name, and only
 * this user may enter it, so other users of this machine cannot read or replace what it holds. The daemon mounts only
 * the inner folder, which the container's user may enter.
 */
export function makeMountedFolder(): string {
  const parent = tryOn(tmpdir(), realpathSync);
  const replaceable = untrusted(parent);
  if (replaceable !== undefined)
    throw unusable(parent, `other users of this machine may replace what is in ${replaceable}`);
  const outer = tryOn(parent, () => mkdtempSync(join(parent, PREFIX)));
  try {
    if (!isOnlyOurs(outer)) throw unusable(parent, `a folder that was created in it is accessible to other users`);
    writeFileSync(join(outer, OWNER), `${hostMachine()} ${hostProcess()}`, { flag: "wx", mode: 0o600 });
    const folder = join(outer, INNER);
    mkdirSync(folder);
    chmodSync(folder, 0o711);
    return folder;
  } catch (error) {
    rmSync(outer, { recursive: true, force: true });
    throw error;
  }
}

export function removeMountedFolder(folder: string): void {
  rmSync(dirname(folder), { recursive: true, force: true });
}

export function removeLeftFolders(): void {
  for (const path of foldersOfThisUser()) {
    try {
      const [machine, host] = readIfThere(join(path, OWNER))?.split(" ") ?? [];
      if (host !== undefined && machine === hostMachine() && isGone(host))
        rmSync(path, { recursive: true, force: true });
    } catch {
      // The folder is small, and the next host tries again.
    }
  }
}

function foldersOfThisUser(): readonly string[] {
  try {
    const parent = realpathSync(tmpdir());
    if (untrusted(parent) !== undefined) return [];
    return readdirSync(parent)
      .filter((name) => name.startsWith(PREFIX))
      .map((name) => join(parent, name))
      .filter(isOnlyOurs);
  } catch {
    // Without a folder for temporary files there are no leftovers.
    return [];
  }
}

/** The innermost folder of a path whose entries another user could replace: that user's, or writable and not sticky. */
function untrusted(path: string): string | undefined {
  const user = process.geteuid?.();
  for (let folder = path; ; folder = dirname(folder)) {
    const { uid, mode } = statSync(folder);
    if (uid !== 0 && uid !== user) return folder;
    if ((mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

/** Checks the opened folder and not its path, because a path may be replaced between two calls. */
function isOnlyOurs(path: string): boolean {
  let opened: number | undefined;
  try {
    opened = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    const { uid, mode } = fstatSync(opened);
    return uid === process.geteuid?.() && (mode & 0o777) === ONLY_OURS;
  } catch {
    return false;
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}

function tryOn(folder: string, work: (folder: string) => string): string {
  try {
    return work(folder);
  } catch (error) {
    throw unusable(folder, (error as Error).message);
  }
}

function unusable(folder: string, cause: string): PortcullisError {
  return new PortcullisError(
    "sandbox_unavailable",
    `The folder for temporary files, ${folder}, cannot be used for containers: ${cause}. Set TMPDIR to a folder of this user's own.`,
  );
}
