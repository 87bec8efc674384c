import { readFile } from "node:fs/promises";
import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import { jsonSchema, type Schema } from "../../tools/schema.ts";
import { EXIT } from "../exit-code.ts";
import { causeOf, Failure } from "../failure.ts";

/** The JSON Schema of a file, as a schema of what a program returns. `flag` is how errors name the option. */
export async function readResultSchema(flag: string, path: string | undefined): Promise<Schema | undefined> {
  if (path === undefined) return undefined;
  try {
    return jsonSchema(JSON.parse(await readFile(path, "utf8")) as JsonSchema);
  } catch (error) {
    throw new Failure(EXIT.usage, `${flag} ${path}: ${causeOf(error)}. Give a file with a JSON Schema.`);
  }
}
