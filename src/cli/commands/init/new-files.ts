import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "../../exit-code.ts";
import { causeOf, Failure } from "../../failure.ts";
import { quoted } from "../../terminal/executions/waiting-hints.ts";
import { oneLine } from "../../terminal/one-line.ts";

export interface NewFile {
  readonly name: string;
  readonly text: string;
}

/** The bit of a mode by which all users may write. */
const WRITABLE_BY_ALL = 0o002;

/**
 * Writes files to a folder, which is made if there is none, and is else empty. Throws a `Failure`, and leaves no file behind,
 * if the folder has anything, cannot be written, or is open to other users: what is in it runs as the user who starts it.
 */
export function writeNewFiles(folder: string, files: readonly NewFile[]): void {
  // The commands that are printed name the folder.
  if (folder === "" || folder !== oneLine(folder))
    throw new Failure(EXIT.usage, "init: expected a folder, whose name has no characters that cannot be printed.");
  const written: string[] = [];
  try {
    mkdirSync(folder, { recursive: true });
    refuse(folder);
    for (const { name, text } of files) {
      writeFileSync(join(folder, name), text, { flag: "wx" });
      written.push(name);
    }
  } catch (error) {
    for (const name of written) rmSync(join(folder, name), { force: true });
    if (error instanceof Failure) throw error;
    throw new Failure(
      EXIT.environment,
      `init: ${folder} cannot be written: ${causeOf(error)}. Nothing was written. Name another folder.`,
      { cause: error },
    );
  }
}

function refuse(folder: string): void {
  const here = folder === "." ? "this folder" : folder;
  // A repository may have been begun in it.
  if (readdirSync(folder).some((name) => name !== ".git"))
    throw new Failure(
      EXIT.usage,
      `init: ${here} is not empty. Nothing was written. Name a new folder: portcullis init ${quoted(join(folder, "my-tools"))}`,
    );
  const { uid, mode } = statSync(folder);
  const user = process.geteuid?.() ?? uid;
  // oxlint-disable-next-line no-bitwise -- the bits of a mode
  if (uid !== user || (mode & WRITABLE_BY_ALL) !== 0)
    throw new Failure(
      EXIT.usage,
      `init: other users may write to ${here}. Nothing was written. Name a new folder: portcullis init ${quoted(join(folder, "my-tools"))}`,
    );
}
