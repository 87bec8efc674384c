import { randomBytes } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { PortcullisError } from "../../base/index.ts";

/**
 * Changes the file that a path leads to, whole or not at all. `textFor` gives the new text; it reads the file, which no other
 * change can replace meanwhile. Of two changes at once the second is refused with `option_invalid`: one of them would be
 * lost. A new file is for its owner alone; an existing one keeps its rights.
 */
export function changeFile(path: string, textFor: (file: string) => string): void {
  const file = pathOfFile(path);
  const lock = `${file}.lock`;
  take(lock);
  try {
    write(file, textFor(file));
  } finally {
    rmSync(lock, { force: true });
  }
}

/** Follows links, so that a link is not replaced by a file: a server may read the file by its own name. */
function pathOfFile(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function take(lock: string): void {
  try {
    closeSync(openSync(lock, "wx", 0o600));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    throw new PortcullisError(
      "option_invalid",
      `Another process is changing the keys: ${lock} exists. Nothing was changed. Try again; if that process is gone, delete ${lock}.`,
      { cause },
    );
  }
}

function write(path: string, text: string): void {
  const beside = join(dirname(path), `.${randomBytes(8).toString("hex")}.new`);
  const file = openSync(beside, "wx", 0o600);
  try {
    keepRights(file, path);
    writeSync(file, text);
    fsyncSync(file);
    closeSync(file);
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

/** A server that runs as another user can read the file as before. */
function keepRights(file: number, path: string): void {
  const before = statSync(path, { throwIfNoEntry: false });
  if (!before || process.platform === "win32") return;
  fchmodSync(file, before.mode);
  try {
    fchownSync(file, before.uid, before.gid);
  } catch (cause) {
    if (before.uid === process.getuid?.()) return;
    throw new PortcullisError(
      "option_invalid",
      `${path} belongs to another user, who could not read it any more. Change it as that user.`,
      { cause },
    );
  }
}
