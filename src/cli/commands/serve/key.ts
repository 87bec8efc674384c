import { given } from "../../../base/index.ts";
import { addKey } from "../../../serve/http/key-file.ts";
import { SCOPES, type Scope } from "../../../serve/http/keys.ts";
import type { CommandOptions, KEY_ADD } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { printJson } from "../../terminal/print.ts";
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
