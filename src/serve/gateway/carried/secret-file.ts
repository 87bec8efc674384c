import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { PortcullisError } from "../../../errors.ts";

/** Bytes of a new secret. */
const SECRET_BYTES = 32;
/** Former secrets that are kept: what they have sealed still holds. */
const KEPT = 3;
const MIN_LENGTH = 32;

/** The file of the gateway's secrets, beside that of a journal. */
export function secretFileOf(journal: string): string {
  return `${journal}.secrets`;
}

/** The secrets of a file, the current one first. Creates the file, which its owner alone can read, if there is none. */
export function readSecrets(path: string): readonly string[] {
  if (!existsSync(path)) write(path, [newSecret()], "wx");
  const secrets = readFileSync(path, "utf8")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (secrets.length > 0 && secrets.every(({ length }) => length >= MIN_LENGTH)) return secrets;
  throw new PortcullisError(
    "option_invalid",
    `${path}: expected secrets of at least ${MIN_LENGTH} characters, one a line. Restore the file, or remove it: paused programs of clients are then lost.`,
  );
}

/** Puts a new secret before those of a file. Only the latest former ones are kept. */
export function rotateSecret(path: string): void {
  const former = existsSync(path) ? readSecrets(path) : [];
  const next = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    write(next, [newSecret(), ...former.slice(0, KEPT)], "wx");
    renameSync(next, path);
  } finally {
    rmSync(next, { force: true });
  }
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

function write(path: string, secrets: readonly string[], flag: "wx"): void {
  try {
    writeFileSync(path, `${secrets.join("\n")}\n`, { mode: 0o600, flag });
  } catch (error) {
    // Another process has created it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
