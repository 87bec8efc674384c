import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { PortcullisError } from "../../errors.ts";
import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import { jsonSchema, type Schema } from "../../tools/schema.ts";
import { type PriceTable, readPrices } from "../../models/prices.ts";
import type { WebhookOptions } from "../../serve/webhooks/webhook-options.ts";
import { EXIT } from "../exit-code.ts";
import { causeOf, Failure } from "../failure.ts";
import { requireFile } from "./no-file.ts";

/** Reads the name of a file. The option after a flag without a file is not its file. */
export function fileName(flag: string, text: string): string {
  if (!text.startsWith("--")) return text;
  throw new Failure(EXIT.usage, `${flag} has no file: ${text} is an option. A file of that name is ./${text}.`);
}

/** Reads the text of a file that is not empty. */
export function readText(flag: string, path: string): string {
  requireFile(flag, path);
  try {
    const text = readFileSync(path, "utf8").replace(/^\ufeff/, "");
    if (text.trim() !== "") return text;
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new Failure(EXIT.usage, `${flag}: ${path} cannot be read: ${why}.`);
  }
  throw new Failure(EXIT.usage, `${flag}: ${path} is empty.`);
}

/** Reads a document that a model has before it begins. */
export function readDocument(flag: string, path: string) {
  return { name: basename(path), text: readText(flag, path) };
}

/** Reads the JSON Schema of a file, as a schema of an answer. */
export function readAnswerSchema(flag: string, path: string): Schema {
  const text = readText(flag, path);
  let schema: JsonSchema;
  try {
    schema = JSON.parse(text) as JsonSchema;
  } catch (cause) {
    throw new PortcullisError("option_invalid", `${flag}: ${path} is no JSON.`, { cause });
  }
  return jsonSchema(schema);
}

/** Reads the JSON Schema of a file, as a schema of what a program returns. */
export function readResultSchema(flag: string, path: string): Schema {
  const text = readText(flag, path);
  try {
    return jsonSchema(JSON.parse(text) as JsonSchema);
  } catch (error) {
    throw new Failure(EXIT.usage, `${flag} ${path}: ${causeOf(error)}. Give a file with a JSON Schema.`);
  }
}

/** Reads a table of prices. */
export function readPriceFile(flag: string, path: string): PriceTable {
  const text = readText(flag, path);
  try {
    return readPrices(JSON.parse(text));
  } catch (cause) {
    throw new Failure(EXIT.usage, `${flag}: ${path} cannot be used: ${(cause as Error).message}`, { cause });
  }
}

/** Reads the webhooks of a server. They hold secrets, which no error shows. */
export function readWebhookFile(flag: string, path: string): readonly WebhookOptions[] {
  let read: unknown;
  try {
    read = JSON.parse(readText(flag, path));
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(EXIT.usage, `${flag}: ${path} is no JSON. Give a file with a list of { "url", "secret" }.`);
  }
  if (!Array.isArray(read))
    throw new Failure(EXIT.usage, `${flag}: ${path} has no list. Give a list of { "url", "secret" }.`);
  return read as readonly WebhookOptions[];
}
