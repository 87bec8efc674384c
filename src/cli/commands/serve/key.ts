import { given, PortcullisError } from "../../../base/index.ts";
import { type Key, parseKeys, type Scope, SCOPES } from "../../../serve/http/keys.ts";
import type { CommandOptions, KEY_ADD } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { printJson } from "../../terminal/print.ts";
import { writeStderr, writeStdout } from "../../terminal/standard-streams.ts";
import { hash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { changeFile } from "../../../serve/http/change-file.ts";

/** `portcullis key add`: prints the new key, which is shown this once. */
export function keyAdd(id: string, options: CommandOptions<typeof KEY_ADD>): number {
  const { keys, tenant, scope, allowTool, expires, json } = options;
  const wrong = scope.find((one) => !SCOPES.includes(one as Scope));
  if (wrong !== undefined) throw new Failure(EXIT.usage, `--scope: expected ${SCOPES.join(", ")}, got ${wrong}.`);
  const key = addKey(keys, {
    id,
    tenant,
    ...(scope.length === 0 ? {} : { scopes: scope as readonly Scope[] }),
    ...(allowTool.length === 0 ? {} : { tools: allowTool }),
    ...given({ expires }),
  });
  if (json) printJson({ id, tenant, key });
  else writeStdout(`${key}\n`);
  writeStderr(`portcullis: this key is shown once. A server with this file accepts it within seconds.\n`);
  return EXIT.completed;
}

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
        `${path} has a key ${JSON.stringify(id)} already: choose another id, or take that key out of the file.`,
      );
    return [...keys, { id, hash: hash("sha256", key), ...rest }];
  });
  return key;
}

/** Checks the keys before they are written. */
function change(path: string, to: (keys: Written["keys"]) => Written["keys"]): void {
  changeFile(path, (file) => {
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
