import { createHash } from "node:crypto";
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
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PortcullisError } from "../../errors.ts";
import { hostMachine, hostProcess, isGone } from "../host-process.ts";

const PREFIX = "portcullis-mounted-";
/** The folder that is mounted, in one that is not. */
const INNER = "m";
const ONLY_OURS = 0o700;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * A new folder that one container of this process gets to see. It lies in another one that only this user may enter,
 * whose name cannot be known ahead, and which was not there before: what is put into it, and what is opened in it, is
 * out of reach of other users of this machine. The daemon mounts the inner one, which the container's user may enter.
 */
export function makeMountedFolder(): string {
  const parent = tryOn(tmpdir(), realpathSync);
  const stranger = untrusted(parent);
  if (stranger !== undefined) throw unusable(parent, `other users of this machine may replace what is in ${stranger}`);
  const outer = tryOn(parent, () => mkdtempSync(join(parent, `${PREFIX}${machineMark()}-${hostProcess()}-`)));
  try {
    if (!isOnlyOurs(outer)) throw unusable(parent, `a folder made in it is not for this user alone`);
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

/** Removes this user's folders of hosts that are gone. */
export function removeLeftFolders(): void {
  for (const path of leftFolders()) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // It takes no room to speak of, and the next host tries again.
    }
  }
}

function leftFolders(): readonly string[] {
  try {
    const parent = realpathSync(tmpdir());
    if (untrusted(parent) !== undefined) return [];
    const beginning = `${PREFIX}${machineMark()}-`;
    return readdirSync(parent)
      .filter((name) => name.startsWith(beginning) && isGone(name.slice(beginning.length, name.lastIndexOf("-"))))
      .map((name) => join(parent, name))
      .filter(isOnlyOurs);
  } catch {
    // Where there is no folder for temporary files nothing was left in it.
    return [];
  }
}

/** Process ids mean nothing on another machine or in another process namespace, which may have the same folder. */
function machineMark(): string {
  return createHash("sha256").update(hostMachine()).digest("hex").slice(0, 16);
}

/** The first folder on the way to a path whose entries another user could replace: its owner, or all, unless it is sticky. */
function untrusted(path: string): string | undefined {
  const user = process.geteuid?.();
  for (let folder = path; ; folder = dirname(folder)) {
    const { uid, mode } = statSync(folder);
    if (uid !== 0 && uid !== user) return folder;
    if ((mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

/** Looks at what was opened, not at what a name leads to. */
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

function unusable(folder: string, why: string): PortcullisError {
  return new PortcullisError(
    "sandbox_unavailable",
    `The folder for temporary files, ${folder}, cannot be used for containers: ${why}. Set TMPDIR to a folder of this user's own.`,
  );
}
