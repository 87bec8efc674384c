import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fstatSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { PortcullisError } from "../../../base/index.ts";

/** Bytes of a new secret. */
const SECRET_BYTES = 32;
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
  if (!existsSync(path)) placeFirst(path);
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
        `${path}: other users of this machine can reach the secrets that seal what clients carry. Take their rights away: chmod 600 ${path}. If others may have read the file, put a new secret in its first line, like that of: openssl rand -base64 33`,
      );
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

function textOf(secrets: readonly string[]): string {
  return `${secrets.join("\n")}\n`;
}

/** Writes a file whole beside its place, and puts it there, unless another process that starts at the same time has done so. */
function placeFirst(path: string): void {
  const beside = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(beside, textOf([newSecret()]), { mode: 0o600, flag: "wx", flush: true });
    linkSync(beside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(beside, { force: true });
  }
}
