import { lstatSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { randomBytes } from "node:crypto";

/**
 * Writes a file that only its owner can read. It replaces an existing file with its mode, and also a link, which
 * another user who has guessed the name may have made. Anything else, like `/dev/stdout`, is written only if the user
 * owns it.
 */
export function writePrivate(file: string, text: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found && !found.isFile()) return writeThrough(file, text);
  const beside = join(dirname(file), `.${randomBytes(8).toString("hex")}.tmp`);
  try {
    writeFileSync(beside, text, { flag: "wx", mode: 0o600 });
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

function writeThrough(file: string, text: string): void {
  const own = new Set([0, process.getuid?.() ?? 0]);
  if (![statSync(file), lstatSync(file)].every(({ uid }) => own.has(uid)))
    throw new Error("it is no file, and belongs to another user");
  writeFileSync(file, text);
}
