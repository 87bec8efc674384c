import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { PortcullisError } from "../../../errors.ts";

/** Bytes of a new secret. */
const SECRET_BYTES = 32;
/** Former secrets that are kept: what they have sealed still holds. */
const KEPT = 3;
const MIN_LENGTH = 32;
/** Rights of the group and of all others. */
const OTHERS = 0o077;

/** The file of the gateway's secrets, beside that of a journal. */
export function secretFileOf(journal: string): string {
  return `${journal}.secrets`;
}

/**
 * The secrets of a file, the current one first. Creates the file, which its owner alone can read, if there is none. Throws
 * `option_invalid` for a file that others can read, and for one without secrets.
 */
export function readSecrets(path: string): readonly string[] {
  if (!existsSync(path)) placeNew(path, [newSecret()], linkUnlessThere);
  const secrets = readOwn(path)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (secrets.length > 0 && secrets.every(({ length }) => length >= MIN_LENGTH)) return secrets;
  throw new PortcullisError(
    "option_invalid",
    `${path}: expected secrets of at least ${MIN_LENGTH} characters, one a line. Restore the file, or remove it: paused programs of clients are then lost.`,
  );
}

/** The text of a file that its owner alone can reach. */
function readOwn(path: string): string {
  const file = openSync(path, "r");
  try {
    if (process.platform !== "win32" && (fstatSync(file).mode & OTHERS) !== 0)
      throw new PortcullisError(
        "option_invalid",
        `${path}: other users of this machine can reach the secrets that seal what clients carry. Take their rights away: chmod 600 ${path}. If others may have read the file, make a new secret: portcullis key rotate.`,
      );
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** Puts a new secret before those of a file. Only the latest former ones are kept. */
export function rotateSecret(path: string): void {
  const former = existsSync(path) ? readSecrets(path) : [];
  placeNew(path, [newSecret(), ...former.slice(0, KEPT)], renameSync);
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

/** Writes a file whole beside its place, and puts it there: a process that reads meanwhile finds all of it, or none. */
function placeNew(path: string, secrets: readonly string[], place: (from: string, to: string) => void): void {
  const beside = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(beside, `${secrets.join("\n")}\n`, { mode: 0o600, flag: "wx", flush: true });
    place(beside, path);
  } finally {
    rmSync(beside, { force: true });
  }
}

/** Leaves the file of another process that has started at the same time. */
function linkUnlessThere(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
