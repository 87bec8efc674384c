import { commentLine } from "../../tools/declarations/one-line.ts";
import { fieldSchema } from "../../tools/array-schema.ts";
import { TYPES } from "../../tools/json-schema/compile-schema.ts";
import { BOUNDS, type JsonSchema, mapSchema, pointerKey } from "../../tools/json-schema/json-schema.ts";
import { mapValue } from "../../tools/json-schema/map-value.ts";
import { type Fields, isFields, lostData, without } from "../../base/index.ts";
import { SEARCH_TOOLS } from "../../tools/tool-name.ts";
import type { ModelCall, Opening, ToolDeclaration } from "../model.ts";
import { inputOf, type ToolsByName } from "./program-input.ts";
import { mappedNames, type ToolNames } from "./tool-names.ts";

/** What a provider's documents let the schema of an input say. One schema that says more costs the whole conversation. */
export interface InputForm {
  /** Words that may not stand beside `type` at the top. */
  readonly notAtTop?: readonly string[];
  /** Names that fields may have; any by default. */
  readonly fieldNames?: RegExp;
  /** Patterns that may not stand anywhere. */
  readonly notPattern?: RegExp;
}

const WRAPPER = "input";

/** How inputs that a model wrote become those of the tool, and back: by the schema that was declared. */
const rewritings = new WeakMap<JsonSchema, Rewriting>();

interface Rewriting extends Record<"own" | "declared", (input: unknown) => unknown> {
  readonly isWrapped: boolean;
  readonly names: ToolNames | undefined;
}

/** Schemas of tools, by those that are declared in their place. */
const originals = new WeakMap<JsonSchema, JsonSchema>();

/** Tools whose inputs are declared as a provider takes them. The gate checks inputs by the original schemas. */
export function declaredFor<Tools extends Pick<Opening, "tools" | "deferred">>(tools: Tools, form: InputForm): Tools {
  const declare = (tool: ToolDeclaration) => {
    const inputSchema = declaredInput(tool.inputSchema, form);
    if (inputSchema !== tool.inputSchema) originals.set(inputSchema, tool.inputSchema);
    return { ...tool, inputSchema };
  };
  const { deferred } = tools;
  return { ...tools, tools: tools.tools.map(declare), ...(deferred && { deferred: deferred.map(declare) }) };
}

/** The schema that is declared for an input: it wraps what may not stand at the top, and gives other names to fields. */
export function declaredInput(original: JsonSchema, { notAtTop = [], fieldNames, notPattern }: InputForm): JsonSchema {
  const input = withoutRefused(original, notPattern);
  const isWrapped = notAtTop.some((word) => word in input);
  const names = fieldNames && namesFor(input, fieldNames);
  if (!isWrapped && !names) return input;
  const schema = names ? (mapSchema(input, (part) => renamed(part, names)) as JsonSchema) : input;
  const declared = isWrapped ? fieldSchema(WRAPPER, schema) : schema;
  rewritings.set(declared, {
    isWrapped,
    names,
    own(written) {
      const isWritten = isWrapped && isFields(written) && Object.keys(written).join() === WRAPPER;
      const value = isWritten ? written[WRAPPER] : written;
      return names ? mapValue(schema, value, { name: (name) => names.own(name) }) : value;
    },
    declared(own) {
      const value = names ? mapValue(input, own, { name: (name) => names.aliasOf(name) }) : own;
      return isWrapped ? { [WRAPPER]: value } : value;
    },
  });
  return declared;
}

/** Names that are told. */
const NAMED = 5;

/** How a provider is told of an input otherwise than the schema says by which the gate checks it; empty if it is not. */
export function inputChange(own: JsonSchema, declared: JsonSchema): string {
  if (own === declared) return "";
  const { isWrapped = false, names } = rewritings.get(declared) ?? {};
  const { fields, words } = saidIn(own);
  const declaredWords = saidIn(declared).words;
  const renamed = [...fields]
    .filter((name) => names && names.aliasOf(name) !== name)
    .map((name) => commentLine(name, 64));
  const more = renamed.length > NAMED ? ` and ${renamed.length - NAMED} more` : "";
  const leftOut = [...words].flatMap(([word, times]) => (times > (declaredWords.get(word) ?? 0) ? word : []));
  return [
    isWrapped ? `as { ${WRAPPER}: … }` : [],
    names ? `other names for ${renamed.slice(0, NAMED).join(", ")}${more}` : [],
    leftOut.length > 0 ? `without ${leftOut.join(", ")}` : [],
  ]
    .flat()
    .join("; ");
}

/** The tools of whose inputs a provider is told otherwise. `write` is what it makes of their schemas beside that. */
export function inputDifferences(
  tools: readonly ToolDeclaration[],
  write = (schema: JsonSchema) => schema,
): readonly string[] {
  return tools.flatMap(({ name, inputSchema }) => {
    const own = originals.get(inputSchema) ?? inputSchema;
    return name !== SEARCH_TOOLS && inputChange(own, write(inputSchema)) !== "" ? name : [];
  });
}

/** Words by which the gate refuses inputs, but for types and what names or joins parts. */
const CHECKED: ReadonlySet<string> = new Set([
  ...BOUNDS,
  ..."enum anyOf pattern patternProperties additionalProperties propertyNames prefixItems contains uniqueItems not if dependentRequired dependentSchemas".split(
    " ",
  ),
]);

/** Words that are said by others. */
const SAME: ReadonlyMap<string, string> = new Map(Object.entries({ const: "enum", oneOf: "anyOf" }));

/** The names of fields in a schema, and how often it says each of the words that are checked. */
function saidIn(schema: JsonSchema) {
  const fields = new Set<string>();
  const words = new Map<string, number>();
  mapSchema(schema, (part) => {
    for (const name of Object.keys(isFields(part.properties) ? part.properties : {})) fields.add(name);
    for (const [word, value] of Object.entries(part)) {
      const keyword = SAME.get(word) ?? word;
      if (CHECKED.has(keyword) ? refuses(value) : word === "type" && !isType(value))
        words.set(keyword, (words.get(keyword) ?? 0) + 1);
    }
    return part;
  });
  return { fields, words };
}

/** `{}` and true take any value. That other fields are refused, models need not be told. */
function refuses(value: unknown): boolean {
  return typeof value !== "boolean" && !(isFields(value) && Object.keys(value).length === 0);
}

function isType(type: unknown): boolean {
  return [type ?? []].flat().every((one) => TYPES.has(one));
}

/** Without types that JSON does not have, and patterns that a provider refuses; the same schema if it has none. */
function withoutRefused(input: JsonSchema, notPattern: RegExp | undefined): JsonSchema {
  const isRefused = (pattern: unknown) => typeof pattern === "string" && notPattern?.test(pattern) === true;
  let isSame = true;
  const written = mapSchema(input, (part) => {
    const { type, pattern, patternProperties } = part;
    const keywords = [
      isType(type) ? [] : "type",
      isRefused(pattern) ? "pattern" : [],
      // Where other fields may not be, those with such names would be none.
      Object.keys(patternProperties ?? {}).some(isRefused) ? ["patternProperties", "additionalProperties"] : [],
    ].flat();
    isSame &&= keywords.length === 0;
    return without(part, ...keywords);
  }) as JsonSchema;
  return isSame ? input : written;
}

function namesFor(schema: JsonSchema, allowed: RegExp): ToolNames | undefined {
  const names = saidIn(schema).fields;
  const [odd, plain] = [true, false].map((isOdd) => [...names].filter((name) => allowed.test(name) !== isOdd));
  return odd && odd.length > 0 ? mappedNames(odd, plain) : undefined;
}

/** A part with other names of its fields. Its model reads the name that a field has. */
function renamed(part: Fields, names: ToolNames): Fields {
  const { properties, required, dependentRequired, dependentSchemas, $ref } = part;
  const aliasOf = (name: unknown) => (typeof name === "string" ? names.aliasOf(name) : name);
  const titled = (name: string, field: unknown) =>
    isFields(field) && names.aliasOf(name) !== name ? { title: name, ...field } : field;
  const keyed = (fields: Fields, map: (name: string, field: unknown) => unknown) =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [names.aliasOf(name), map(name, field)]));
  return {
    ...part,
    ...(isFields(properties) && { properties: keyed(properties, titled) }),
    ...(Array.isArray(required) && { required: required.map(aliasOf) }),
    ...(isFields(dependentRequired) && {
      dependentRequired: keyed(dependentRequired, (_, list) => (Array.isArray(list) ? list.map(aliasOf) : list)),
    }),
    ...(isFields(dependentSchemas) && { dependentSchemas: keyed(dependentSchemas, (_, schema) => schema) }),
    ...(typeof $ref === "string" && { $ref: renamedReference($ref, names) }),
  };
}

function renamedReference(reference: string, names: ToolNames): string {
  const parts = reference.split("/");
  const aliasOfPart = (part: string) => {
    const own = pointerKey(part);
    return names.aliasOf(own) === own ? part : names.aliasOf(own);
  };
  return parts.map((part, at) => (parts[at - 1] === "properties" ? aliasOfPart(part) : part)).join("/");
}

/** A call with the input that its tool takes (`own`), or with the one that was declared. What cannot be read stays as it is. */
export function rewrittenCall<Call extends ModelCall>(tools: ToolsByName, call: Call, side: "own" | "declared"): Call {
  if (call.type !== "tool_call") return call;
  const tool = tools.get(call.tool);
  const rewrite = tool && rewritings.get(tool.inputSchema)?.[side];
  return rewrite ? { ...call, inputText: rewrittenText(call.inputText, rewrite) } : call;
}

/** A text of JSON with another value. A text that says more than its value stays, and the gate refuses it. */
export function rewrittenText(text: string, rewrite: (value: unknown) => unknown): string {
  const value = inputOf(text);
  if (value === undefined || lostData(text, value) !== undefined) return text;
  return JSON.stringify(rewrite(value));
}
