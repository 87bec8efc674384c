import { lstatSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { EXIT } from "../../exit-code.ts";
import { causeOf, Failure } from "../../failure.ts";
import { quoted } from "../../terminal/executions/waiting-hints.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { makeFolder } from "../../write-out.ts";
import { refuseShared } from "./shared-folder.ts";

export interface NewFile {
  readonly name: string;
  readonly text: string;
  /** Whether a file that is there already stays in its place. Without it, such a file stops the command. */
  readonly mayExist?: boolean;
}

/**
 * Writes files to a folder, which is made if there is none, and gives the names of those that it wrote. It changes no file
 * that is there already. Throws a `Failure`, and leaves no file behind, if one of them may not exist and does.
 */
export function writeNewFiles(folder: string, files: readonly NewFile[]): readonly string[] {
  // The commands that are printed name the folder.
  if (folder === "" || folder !== oneLine(folder))
    throw new Failure(EXIT.usage, "init: expected a folder, whose name has no characters that cannot be printed.");
  refuseLinks(folder);
  refuseShared(folder);
  openFolder(folder);
  const there = files.filter(({ name, mayExist }) => mayExist !== true && exists(join(folder, name)));
  if (there.length > 0) throw areThere(folder, there);
  const written: string[] = [];
  try {
    for (const file of files) if (writeNew(folder, file)) written.push(file.name);
  } catch (error) {
    for (const name of written) rmSync(join(folder, name), { force: true });
    throw error instanceof Failure ? error : notWritable(folder, error);
  }
  return written;
}

/** Says whether the file was written. It may have come into being since the others were looked for. */
function writeNew(folder: string, { name, text, mayExist }: NewFile): boolean {
  try {
    writeFileSync(join(folder, name), text, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (mayExist !== true) throw areThere(folder, [{ name }]);
    return false;
  }
}

/** Whether there is anything of this name, also a link that leads nowhere. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Files would land elsewhere than the name of the folder says, maybe where another user has made the link lead. */
function refuseLinks(folder: string): void {
  for (let path = resolve(folder), above = ""; path !== above; [above, path] = [path, dirname(path)]) {
    if (!isLink(path)) continue;
    const whole = join(realOf(path), resolve(folder).slice(path.length));
    throw new Failure(
      EXIT.usage,
      `init: ${folder} leads through the link ${path} to another place. Name that: portcullis init ${quoted(whole)}`,
    );
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  } catch {
    // Making the folder says why it cannot be looked up.
    return false;
  }
}

function realOf(link: string): string {
  try {
    return realpathSync(link);
  } catch {
    return resolve(dirname(link), readlinkSync(link));
  }
}

function openFolder(folder: string): void {
  try {
    makeFolder(folder);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw ["EEXIST", "ENOTDIR"].includes(code) ? isNoFolder(folder) : notWritable(folder, error);
  }
}

function areThere(folder: string, files: readonly { readonly name: string }[]): Failure {
  const names = files.map(({ name }) => name).join(", ");
  const they = files.length === 1 ? "is there already" : "are there already";
  return new Failure(
    EXIT.usage,
    `init: ${names} ${they}, in ${folder === "." ? "this folder" : folder}. Nothing was written. Name another folder: portcullis init ${quoted(freeFolder(folder))}`,
  );
}

/** A folder that is not there yet, beside this one or in it. */
function freeFolder(folder: string): string {
  const named = /^\.{0,2}$/.test(basename(folder)) ? join(folder, "my-tools") : join(dirname(folder), basename(folder));
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? named : `${named}-${number}`;
    if (!exists(free)) return free;
  }
}

function isNoFolder(folder: string): Failure {
  return new Failure(EXIT.usage, `init: ${folder} is no folder, or leads through a file. Name a folder.`);
}

function notWritable(folder: string, cause: unknown): Failure {
  return new Failure(
    EXIT.environment,
    `init: ${folder} cannot be written: ${causeOf(cause)}. Nothing was written. Name another folder.`,
    { cause },
  );
}
