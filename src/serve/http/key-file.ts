import { hash, randomBytes } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { PortcullisError } from "../../errors.ts";
import { type Key, type Keys, parseKeys } from "./keys.ts";

/** Bytes of a new key: 256 random bits. */
const KEY_BYTES = 32;

type NewKey = Pick<Key, "id" | "tenant" | "tools" | "expires"> & Partial<Pick<Key, "scopes">>;

interface Written {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/**
 * Adds a key to a file, and creates the file if there is none. Returns the key, which is stored nowhere: the file has
 * its SHA-256.
 */
export function addKey(path: string, { id, ...rest }: NewKey): string {
  const key = randomBytes(KEY_BYTES).toString("base64url");
  change(path, (keys) => {
    if (keys.some((one) => one["id"] === id))
      throw new PortcullisError(
        "option_invalid",
        `${path} has a key ${JSON.stringify(id)} already: choose another id, or revoke that key first.`,
      );
    return [...keys, { id, hash: hash("sha256", key), ...rest }];
  });
  return key;
}

/**
 * Removes a key from a file. Throws `option_invalid` if there is no key of that id, and for the last key: a file has at
 * least one.
 */
export function revokeKey(path: string, id: string): void {
  change(path, (keys) => {
    const left = keys.filter((key) => key["id"] !== id);
    if (left.length === keys.length)
      throw new PortcullisError(
        "option_invalid",
        `${path} has no key ${JSON.stringify(id)}. List them with: portcullis key list`,
      );
    if (left.length === 0)
      throw new PortcullisError(
        "option_invalid",
        `${JSON.stringify(id)} is the only key of ${path}, and a file has at least one. Add another one first.`,
      );
    return left;
  });
}

export function listKeys(path: string): Keys {
  return parseKeys(path, readFileSync(path, "utf8"));
}

/** Changes the file that a path leads to. Of two changes at once the second is refused: one of them would be lost. */
function change(path: string, to: (keys: Written["keys"]) => Written["keys"]): void {
  const file = pathOfFile(path);
  const lock = `${file}.lock`;
  take(lock);
  try {
    write(file, { keys: to(read(file)?.keys ?? []) });
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

/** Undefined if there is no file. Throws `option_invalid` for a file that cannot be read as keys: it is not written over. */
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

/**
 * Checks the keys and writes the whole file or nothing. A new file is for its owner alone; an existing one keeps its
 * mode.
 */
function write(path: string, written: Written): void {
  const text = `${JSON.stringify(written, undefined, 2)}\n`;
  parseKeys(path, text);
  const beside = join(dirname(path), `.${randomBytes(8).toString("hex")}.keys`);
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
