import { readFileSync, existsSync } from "node:fs";
import { basename } from "node:path";
import { optionError } from "../../base/index.ts";
import type { JsonSchema } from "../../tools/json-schema/index.ts";
import { jsonSchema, type Schema } from "../../tools/schema.ts";
import type { WebhookOptions } from "../../serve/webhooks/webhook-options.ts";
import { causeOf, UsageFailure } from "../failure.ts";
import type { Reader } from "../option.ts";
import { oneLine } from "../terminal/one-line.ts";

export function noFile(path: string): string {
  return `there is no file ${oneLine(path)}.`;
}

/** Refuses a file that an option names, if there is none. */
export function requireFile(option: string, path: string): void {
  if (path.trim() === "") throw optionError(option, "the name of a file", path);
  if (!existsSync(path)) throw new UsageFailure(`${option}: ${noFile(path)}`);
}

/** Reads the text of a file that is not empty. */
export function readText(flag: string, path: string): string {
  requireFile(flag, path);
  try {
    const text = readFileSync(path, "utf8").replace(/^\ufeff/, "");
    if (text.trim() !== "") return text;
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new UsageFailure(`${flag}: ${path} cannot be read: ${why}.`);
  }
  throw new UsageFailure(`${flag}: ${path} is empty.`);
}

/** Reads a document that a model has before it begins. */
export function readDocument(flag: string, path: string) {
  return { name: basename(path), text: readText(flag, path) };
}

/** Reads JSON from a file, and makes of it what an option takes. No error shows what is in the file: it may hold secrets. */
function reading<Value>(what: string, make: (value: unknown) => Value): Reader<Value> {
  return (flag, path) => {
    const text = readText(flag, path);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new UsageFailure(`${flag}: ${path} is no JSON. Give a file with ${what}.`);
    }
    try {
      return make(value);
    } catch (cause) {
      throw new UsageFailure(`${flag}: ${path}: ${causeOf(cause)}. Give a file with ${what}.`, { cause });
    }
  };
}

export const readSchema = reading<Schema>("a JSON Schema", (value) => jsonSchema(value as JsonSchema));
export const readWebhookFile = reading<readonly WebhookOptions[]>('a list of { "url", "secret" }', (value) => {
  if (!Array.isArray(value)) throw new Error("it has no list");
  return value as readonly WebhookOptions[];
});
