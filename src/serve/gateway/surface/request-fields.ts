import { describe, fieldOf, type Fields, withoutUndefined, isFields, asUntrusted } from "../../../base/index.ts";
import type { MessagePart, ModelSettings, Reasoning } from "../../../models/model.ts";
import type { Caller } from "../../../tools/tool.ts";
import { type AskedAnswer, type AskedTool, type AskedTools, invalidField } from "./surface.ts";

/** How a field has to be. Null stands for a field that is missing. */
interface FieldRule<Value = unknown> {
  /** What is said of a value that does not fit. */
  readonly why: string;
  readonly fits: (value: unknown) => boolean;
  readonly code?: string;
  /** For types alone. */
  readonly value?: Value;
}

type FieldRules = Readonly<Record<string, FieldRule>>;
type ReadFields<Rules> = {
  readonly [Name in keyof Rules]?: Rules[Name] extends FieldRule<infer Value> ? Value : never;
};

function rule<Value>(expected: string, fits: (value: unknown) => boolean): FieldRule<Value> {
  return { why: `expected ${expected}`, fits };
}

const EFFORTS = { minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "high", max: "high" } as const;

const oneOf = (names: string) =>
  rule<string>(`one of ${names.replaceAll(" ", ", ")}`, (value) => names.split(" ").some((name) => name === value));

const isText = (value: unknown) => typeof value === "string";

/** Fields that the provider has, and this server does not offer. */
const notOffered: FieldRule = {
  why: "this server does not offer it",
  code: "unsupported_parameter",
  fits: (value) => Array.isArray(value) && value.length === 0,
};

/** How the fields of requests have to be. */
export const field = {
  rule,
  oneOf,
  notOffered,
  /** Fields that are read elsewhere, or change nothing here: what a provider keeps, charges, counts or shows. */
  any: rule<unknown>("", () => true),
  text: rule<string>("a string", isText),
  name: rule<string>(
    "a string of 1 to 256 characters",
    (value) => typeof value === "string" && value !== "" && value.length <= 256,
  ),
  flag: rule<boolean>("a boolean", (value) => typeof value === "boolean"),
  object: rule<Fields>("an object", isFields),
  list: rule<readonly unknown[]>("an array", Array.isArray),
  count: rule<number>("a whole number above 0", (value) => Number.isSafeInteger(value) && Number(value) > 0),
  /** Of the user, an empty list is refused with its message. */
  content: rule<string | readonly Fields[]>(
    "a string or a list of parts",
    (value) => isText(value) || (Array.isArray(value) && value.every(isFields)),
  ),
  schema: rule<Fields>('a JSON Schema of `type: "object"`', (value) => isFields(value) && value.type === "object"),
  effort: oneOf(`none ${Object.keys(EFFORTS).join(" ")}`),
  /** The form of an answer: any text, or JSON by a schema. */
  format: rule<Fields>(
    "{ type: 'json_schema', schema }",
    (value) =>
      isFields(value) &&
      (value.type === "json_schema" ? isFields(value.schema) : value.type === "text" && value.schema === undefined),
  ),
  named: (most: number) =>
    rule<string>(
      `a string that matches '^[a-zA-Z0-9_-]{1,${most}}$'`,
      (value) => typeof value === "string" && value.length <= most && /^[A-Za-z0-9_-]+$/.test(value),
    ),
  upTo: (most: number) =>
    rule<number>(`a number from 0 to ${most}`, (value) => typeof value === "number" && value >= 0 && value <= most),
  /** The callers of a tool: this loop itself, or programs by the name that the provider has for them. */
  callers: (program: string, isProgram: (caller: string) => boolean) =>
    rule<readonly string[]>(
      `a list of 'direct' and '${program}'`,
      (value) =>
        Array.isArray(value) &&
        value.length > 0 &&
        value.every((one) => typeof one === "string" && (one === "direct" || isProgram(one))),
    ),
  /** A field in place of which the provider's own default may stand. */
  only: (value: unknown): FieldRule => ({ ...notOffered, fits: (one) => one === value }),
  /** One rule for several fields. */
  all: (one: FieldRule, names: string): FieldRules => Object.fromEntries(names.split(" ").map((name) => [name, one])),
};

/** Throws `RefusedAsk` for a body with fields that no rule names: passed over, they would give an answer to another question. */
export function refuseUnknown(body: unknown, rules: FieldRules): void {
  if (!isFields(body)) throw invalidField("body", "expected an object");
  // A rule whose name has a dot is of a field in a field.
  const isKnown = (name: string) => !name.includes(".") && Object.hasOwn(rules, name);
  const unknown = Object.keys(body).find((name) => !isKnown(name) && body[name] !== null);
  if (unknown !== undefined)
    throw invalidField(unknown.slice(0, 100), "this server knows no such field", "unknown_parameter");
}

/**
 * The fields of a value that have rules; `thinking.type` is a field in a field. `required` names some of them. Throws `RefusedAsk`
 * for one that does not fit, or is missing.
 */
export function readFields<Rules extends FieldRules>(
  value: unknown,
  rules: Rules,
  required: string,
  place?: string,
): ReadFields<Rules> {
  const names = required.split(" ");
  const read = Object.entries(rules).map(([name, { why, fits, code }]) => {
    const field = name.split(".").reduce<unknown>((holder, one) => fieldOf(holder, one), value) ?? undefined;
    if (field === undefined ? names.includes(name) : !fits(field))
      throw invalidField(place === undefined ? name : `${place}.${name}`, why, code);
    return [name, field];
  });
  return Object.fromEntries(read) as ReadFields<Rules>;
}

export function reasoningOf(effort: string | undefined, summary: boolean): Reasoning | undefined {
  if (effort === "none" || (effort === undefined && !summary)) return undefined;
  return withoutUndefined({ effort: EFFORTS[effort as keyof typeof EFFORTS], summary: summary || undefined });
}

export function answerSchema(format: Fields | undefined): ModelSettings["answer"] {
  return format?.schema as ModelSettings["answer"];
}

/** Texts that instruct the model, as one. */
export function joinTexts(texts: readonly string[]): string | undefined {
  const whole = texts.filter((text) => text.trim() !== "").join("\n\n");
  return whole === "" ? undefined : whole;
}

export interface ToolForm {
  readonly placeOf: (index: number) => string;
  /** The tools of an entry, or what it stands for; undefined if this server does not offer it. */
  readonly take: (tool: Fields, place: string) => readonly AskedTool[] | "programs" | "searches" | undefined;
  /** Names of what stands for programs and for searches. */
  readonly programs: string;
  readonly searches: string;
}

/** The tools of a request. What this server does not have is refused by its type. */
export function readTools(definitions: readonly unknown[], form: ToolForm): AskedTools {
  const tools: AskedTool[] = [];
  const has = { programs: false, searches: false };
  for (const [index, tool] of definitions.entries()) {
    const place = form.placeOf(index);
    const result = isFields(tool) ? form.take(tool, place) : undefined;
    if (result === undefined)
      throw invalidField(
        `${place}.type`,
        `this server does not offer ${describe(fieldOf(tool, "type"))}: it offers tools of the client, ${form.programs} and ${form.searches}`,
      );
    if (typeof result === "string") has[result] = true;
    else tools.push(...result);
  }
  const names = new Set(has.programs ? [` ${form.programs}`] : []);
  const namespaces = new Set(tools.map(({ namespace }) => namespace));
  for (const { name, namespace = "", callers, place, isDeferred } of tools) {
    if (names.has(`${namespace} ${name}`)) throw invalidField(`${place}.name`, `there are two tools ${name}`);
    names.add(`${namespace} ${name}`);
    if (namespace === "" && namespaces.has(name))
      throw invalidField(`${place}.name`, `there is a tool ${name} and a namespace ${name}`);
    if (!has.programs && callers.includes("programmatic"))
      throw invalidField(`${place}.allowed_callers`, `${form.programs} must be among the tools`);
    if (isDeferred && !has.searches)
      throw invalidField(`${place}.defer_loading`, `${form.searches} must be among the tools`);
  }
  return { tools, programs: has.programs };
}

export function callersOf(callers: readonly string[] = ["direct"]): readonly Caller[] {
  return [...new Set(callers.map((one): Caller => (one === "direct" ? one : "programmatic")))];
}

/** A part that is text. */
export function textPart(part: Fields, place: string): MessagePart {
  return { type: "text", text: readFields(part, { text: field.text }, "text", place).text ?? "" };
}

/** The parts of a message or a result, whose content may be one text. */
export function blocksOf(content: string | readonly Fields[] = ""): readonly Fields[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

export function answerOf(read: readonly MessagePart[], isError = false): AskedAnswer {
  const texts = read.flatMap((part) => (part.type === "text" ? part.text : []));
  return { text: asUntrusted(texts.join("\n")), isError, parts: read.filter((part) => part.type !== "text") };
}
