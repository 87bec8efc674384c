import { hash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { PortcullisError } from "../../errors.ts";
import { changeFile } from "./change-file.ts";
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

/** Checks the keys before they are written. */
function change(path: string, to: (keys: Written["keys"]) => Written["keys"]): void {
  changeFile(path, "keys", (file) => {
    const text = `${JSON.stringify({ keys: to(read(file)?.keys ?? []) }, undefined, 2)}\n`;
    parseKeys(file, text);
    return text;
  });
}

/** Undefined if there is no file. Throws `option_invalid` for a file that cannot be read as keys: it is not written over. */
function read(path: string): Written | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  parseKeys(path, text);
  return JSON.parse(text) as Written;
}
