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
  writeFileSync,
} from "node:fs";
import { PortcullisError } from "../../base/index.ts";

/**
 * Changes the file that a path leads to, whole or not at all. `textFor` gives the new text; it reads the file, which no other
 * change can replace meanwhile. Of two changes at once the second is refused with `option_invalid`: one of them would be
 * lost. A new file is for its owner alone; an existing one keeps its rights.
 */
export function changeFile(path: string, textFor: (file: string) => string): void {
  const file = pathOfFile(path);
  const next = `${file}.new`;
  const opened = openNext(next);
  try {
    try {
      keepRights(opened, file);
      writeFileSync(opened, textFor(file));
      fsyncSync(opened);
    } finally {
      closeSync(opened);
    }
    renameSync(next, file);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
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

function openNext(next: string): number {
  try {
    return openSync(next, "wx", 0o600);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    throw new PortcullisError(
      "option_invalid",
      `Another process is changing the keys: ${next} exists. Nothing was changed. Try again; if that process is gone, delete ${next}.`,
      { cause },
    );
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
