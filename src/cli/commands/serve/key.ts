import { existsSync } from "node:fs";
import { now } from "../../../clock.ts";
import { given } from "../../../option-rules/given.ts";
import { addKey, listKeys, revokeKey } from "../../../serve/http/key-file.ts";
import { rotateSecret } from "../../../serve/gateway/carried/secret-file.ts";
import { SCOPES, type Scope } from "../../../serve/http/keys.ts";
import type { CommandOptions, KEY_ADD, KEY_LIST, KEY_REVOKE, KEY_ROTATE } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { namedSecretFile } from "./gateway-secrets.ts";
import { printJson, printTable } from "../../terminal/print.ts";
import { writeStderr, writeStdout } from "../../terminal/standard-streams.ts";

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

/** `portcullis key list`. No key is printed, and no hash of one. */
export function keyList({ keys: path, json }: CommandOptions<typeof KEY_LIST>): number {
  refuseNoFile(path);
  const { all } = listKeys(path);
  if (json) for (const { digest: _, isPlain: __, ...key } of all) printJson(key);
  else
    printTable(
      ["key", "tenant", "scopes", "tools", "expires"],
      all.map(({ id, tenant, scopes, tools, expires = "never" }) => [
        id,
        tenant,
        scopes.join(", "),
        tools?.join(", ") ?? "all",
        expires === "never" || Date.parse(expires) > now() ? expires : `${expires}, has expired`,
      ]),
    );
  return EXIT.completed;
}

/** `portcullis key revoke`. */
export function keyRevoke(id: string, { keys, json }: CommandOptions<typeof KEY_REVOKE>): number {
  refuseNoFile(keys);
  revokeKey(keys, id);
  if (json) printJson({ id, revoked: true });
  writeStderr(`portcullis: ${id} is out of ${keys}. A server with this file refuses it within seconds.\n`);
  return EXIT.completed;
}

/** `portcullis key rotate`. What former secrets have sealed holds for the next rotations. */
export function keyRotate({ journal, json }: CommandOptions<typeof KEY_ROTATE>): number {
  const file = namedSecretFile(journal);
  rotateSecret(file);
  if (json) printJson({ file, rotated: true });
  writeStderr(`portcullis: ${file} has a new secret. A server uses it from its next start on.\n`);
  return EXIT.completed;
}

function refuseNoFile(path: string): void {
  if (!existsSync(path))
    throw new Failure(EXIT.usage, `There is no file ${oneLine(path)}. portcullis key add creates it.`);
}
