import { hash, randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { PortcullisError } from "../../errors.ts";
import { type Keys, type Scope, parseKeys } from "./keys.ts";

/** Bytes of a new key: 256 random bits. */
const KEY_BYTES = 32;

export interface NewKey {
  readonly id: string;
  readonly tenant: string;
  readonly scopes?: readonly Scope[];
  readonly tools?: readonly string[];
  /** ISO time. */
  readonly expires?: string;
}

interface Written {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/** Adds a key to a file, which is made where there is none. Returns the key, which is written nowhere: the file has its SHA-256. */
export function addKey(path: string, { id, ...rest }: NewKey): string {
  const key = randomBytes(KEY_BYTES).toString("base64url");
  const { keys } = read(path) ?? { keys: [] };
  write(path, { keys: [...keys, { id, hash: hash("sha256", key), ...rest }] });
  return key;
}

/** Takes a key out of a file. Throws `option_invalid` where there is none of that id, and for the last one: a file has at least one key. */
export function revokeKey(path: string, id: string): void {
  const { keys } = read(path) ?? { keys: [] };
  const left = keys.filter((key) => key["id"] !== id);
  if (left.length === keys.length)
    throw new PortcullisError(
      "option_invalid",
      `${path} has no key ${JSON.stringify(id)}. List them with: portcullis key list`,
    );
  if (left.length === 0)
    throw new PortcullisError(
      "option_invalid",
      `${JSON.stringify(id)} is the only key of ${path}, and a file has at least one. Add another one first, or delete the file.`,
    );
  write(path, { keys: left });
}

/** The keys of a file. */
export function listKeys(path: string): Keys {
  return parseKeys(path, readFileSync(path, "utf8"));
}

/** Undefined where there is no file. Throws `option_invalid` for one that cannot be read as keys: it is not written over. */
function read(path: string): Written | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  parseKeys(path, text);
  return JSON.parse(text) as Written;
}

/** Writes the whole or nothing, for its owner alone. What is written is checked before. */
function write(path: string, written: Written): void {
  const text = `${JSON.stringify(written, undefined, 2)}\n`;
  parseKeys(path, text);
  const beside = join(dirname(path), `.${randomBytes(8).toString("hex")}.keys`);
  // eslint-disable-next-line no-bitwise
  const file = openSync(beside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
    closeSync(file);
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}
