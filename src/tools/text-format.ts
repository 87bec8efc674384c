import { isFields, option, type OptionPlace, PortcullisError, withDefault } from "../base/index.ts";
import type { JsonSchema } from "./json-schema/json-schema.ts";
import { readPattern } from "./json-schema/patterns/linear-pattern.ts";
import { keepCompiledForm, lazySchema, type Schema } from "./schema.ts";

/** What a text tool takes: any text, or a text that a regular expression matches as a whole. */
export type TextFormat = "text" | { readonly regex: string };

export const FORMAT_RULES = {
  /**
   * Any text (`"text"`, default), or `{ regex }`, a regular expression in the notation of ECMAScript with the flag `u`
   * that the whole text must match. It is checked on the host without backtracking.
   */
  format: withDefault(option<TextFormat>('"text" or { regex: "…" }', isFormat), "text"),
};

function isFormat(value: unknown): boolean {
  if (value === "text") return true;
  return isFields(value) && Object.keys(value).length === 1 && typeof value.regex === "string";
}

/** The schema of a text tool's input. Throws `option_invalid` for a regular expression that cannot be checked in linear time. */
export function textSchema(place: OptionPlace, format: TextFormat, maxSteps: number): Schema<string, string> {
  if (format !== "text") refuseUnmatched(place, format.regex);
  const text = lazySchema(() => textJson(format), { maxSteps });
  const { validate: check, ...own } = text["~standard"];
  const schema = {
    "~standard": {
      ...own,
      vendor: "portcullis-text",
      validate(value: unknown) {
        const input = textIn(value);
        return input === undefined ? { issues: [{ message: "expected one text" }] } : check(input);
      },
    },
  } as Schema<string, string>;
  keepCompiledForm(schema, text);
  return schema;
}

function textJson(format: TextFormat): JsonSchema {
  return { type: "string", ...(format !== "text" && { pattern: anchored(format.regex) }) };
}

/** The input of a text tool where calls have named fields: functions of most providers, MCP, the loops of other packages. */
export function namedTextJson(format: TextFormat): JsonSchema {
  return {
    type: "object",
    properties: { [TEXT_FIELD]: textJson(format) },
    required: [TEXT_FIELD],
    additionalProperties: false,
  };
}

const TEXT_FIELD = "input";

/** A text, or an object whose only field holds it. Undefined for any other value. */
export function textIn(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!isFields(value) || !Object.hasOwn(value, TEXT_FIELD) || Object.keys(value).length !== 1) return undefined;
  const text = value[TEXT_FIELD];
  return typeof text === "string" ? text : undefined;
}

function anchored(regex: string): string {
  return `^(?:${regex})$`;
}

function refuseUnmatched({ at }: OptionPlace, regex: string): void {
  // By itself first: `a)(b` is a regular expression only between brackets.
  const unfit = [regex, anchored(regex)].map((one) => readPattern(one)).find((read) => typeof read === "string");
  if (unfit !== undefined)
    throw new PortcullisError(
      "option_invalid",
      `${at("format")}: the regex ${unfit}. It must be one that can be checked in linear time.`,
    );
}
