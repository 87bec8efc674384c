import { PortcullisError } from "../../../base/index.ts";
import { type Key, parseKeys, type KeyScope, SCOPES } from "../../../serve/http/keys.ts";
import type { CommandOptions, KEY_ADD } from "../../command-options.ts";
import { UsageFailure } from "../../failure.ts";
import { printJson, writeStderr, writeStdout } from "../../terminal/standard-streams.ts";
import { hash, randomBytes } from "node:crypto";
import {
  readFileSync,
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

/** `portcullis key add`: prints the new key, which is shown this once. */
export function keyAdd(id: string, options: CommandOptions<typeof KEY_ADD>): void {
  const { keys, tenant, scope, allowTool, expires, json } = options;
  const wrong = scope.find((one) => !SCOPES.includes(one as KeyScope));
  if (wrong !== undefined) throw new UsageFailure(`--scope: expected ${SCOPES.join(", ")}, got ${wrong}.`);
  const key = addKey(keys, {
    id,
    tenant,
    scopes: scope.length === 0 ? undefined : (scope as readonly KeyScope[]),
    tools: allowTool.length === 0 ? undefined : allowTool,
    expires,
  });
  if (json) printJson({ id, tenant, key });
  else writeStdout(`${key}\n`);
  writeStderr(`portcullis: this key is shown once. A server with this file accepts it within seconds.\n`);
}

/** Bytes of a new key: 256 random bits. */
const KEY_BYTES = 32;

type NewKey = Pick<Key, "id" | "tenant" | "tools" | "expires"> & Partial<Pick<Key, "scopes">>;

/**
 * Adds a key to a file, and creates the file if there is none. Returns the key, which is stored nowhere: the file has
 * its SHA-256.
 */
export function addKey(path: string, { id, ...rest }: NewKey): string {
  const key = randomBytes(KEY_BYTES).toString("base64url");
  changeFile(path, (file) => {
    const keys = keysIn(file);
    if (keys.some((one) => one["id"] === id))
      throw new PortcullisError(
        "option_invalid",
        `${path} has a key ${JSON.stringify(id)} already: choose another id, or take that key out of the file.`,
      );
    const text = `${JSON.stringify({ keys: [...keys, { id, hash: hash("sha256", key), ...rest }] }, undefined, 2)}\n`;
    // They are checked before they are written.
    parseKeys(file, text);
    return text;
  });
  return key;
}

/** None if there is no file. Throws `option_invalid` for a file that cannot be read as keys: it is not written over. */
function keysIn(path: string): readonly Readonly<Record<string, unknown>>[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  parseKeys(path, text);
  return (JSON.parse(text) as { readonly keys: readonly Readonly<Record<string, unknown>>[] }).keys;
}

/**
 * Changes the file that a path leads to, whole or not at all. `textFor` gives the new text; it reads the file, which no other
 * change can replace meanwhile. Of two changes at once the second is refused with `option_invalid`: one of them would be
 * lost. A new file is for its owner alone; an existing one keeps its rights.
 */
function changeFile(path: string, textFor: (file: string) => string): void {
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
