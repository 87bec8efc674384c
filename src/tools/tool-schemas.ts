import { isAnyObject, PortcullisError } from "../base/index.ts";
import { arraySchema } from "./array-schema.ts";
import {
  type CompiledSchema,
  compileSchema,
  inPlaceOf,
  childNodes,
  type SchemaNode,
} from "./json-schema/compile-schema.ts";
import { type FieldsRead, readInputFields } from "./json-schema/input-fields.ts";
import type { JsonSchema } from "./json-schema/json-schema.ts";
import { compiledForm, PLAIN_VENDOR, readJsonSchema, schemaReason, type Schema, stepsOf } from "./schema.ts";
import { namedTextJson } from "./text-format.ts";
import type { Tool } from "./tool.ts";

/** JSON Schema of what a tool takes (`input`), or of its result, of a stream of one item (`output`). */
export function jsonSchemaOf(toolName: string, side: "input" | "output", schema: Schema): JsonSchema {
  try {
    return readJsonSchema(schema, side);
  } catch (error) {
    const reason = schemaReason(error);
    const message = `Tool "${toolName}": ${side} has no JSON Schema: ${reason}. Tools take and give JSON: dates are z.iso.datetime(), whole numbers z.int() or z.string(), maps z.record(z.string(), …), sets z.array(…).`;
    throw new PortcullisError("tool_invalid", message, { cause: error });
  }
}

/** JSON Schema of what a tool takes, as its schema says it. */
export function inputJson({ name, inputSchema }: Pick<Tool, "name" | "inputSchema">): JsonSchema {
  return jsonSchemaOf(name, "input", inputSchema);
}

export type ToolInput = Pick<Tool, "name" | "inputSchema" | "unknownFields">;

/** The compiled JSON Schemas of inputs that are schemas of libraries. */
const librarySchemas = new WeakMap<Schema, CompiledSchema>();

/** Throws a `PortcullisError` (`tool_invalid`) if a tool refuses unknown fields, and its JSON Schema does not tell which fields are known. */
export function checkInputFields(tool: ToolInput): void {
  // `jsonSchema()` has refused what cannot be read.
  if (tool.unknownFields === "allow" || tool.inputSchema["~standard"].vendor === PLAIN_VENDOR) return;
  try {
    compiledInput(tool);
  } catch (error) {
    if (!PortcullisError.is(error)) throw error;
    throw new PortcullisError(
      "tool_invalid",
      `Tool "${tool.name}": unknown fields of its input cannot be refused: ${error.message} With unknownFields: "allow" they are passed on to the schema.`,
      { cause: error },
    );
  }
}

/** What an input's fields are; undefined if the JSON Schema cannot be read and unknown fields are passed on. */
export function inputFieldsOf(tool: ToolInput, value: unknown): FieldsRead | undefined {
  const { inputSchema: input, unknownFields = "refuse" } = tool;
  let compiled: CompiledSchema;
  try {
    compiled = compiledInput(tool);
  } catch (error) {
    if (unknownFields === "allow") return undefined;
    throw error;
  }
  return readInputFields(compiled, value, unknownFields, stepsOf(input));
}

/** The JSON Schema of a tool's input for models, always of an object. It says `additionalProperties: false` if unknown fields are refused. */
export function inputSchemaOf(tool: Tool): JsonSchema {
  if (tool.textFormat !== undefined) return namedTextJson(tool.textFormat);
  if (tool.unknownFields === "allow") return inputJson(tool);
  return closedSchema(compiledInput(tool));
}

/**
 * The JSON Schema of a tool's result for a caller that reads no streams: a model that calls directly, the loop of another
 * package, a provider's hosted program. It gets the items of a stream as one array. Undefined if the result may be anything.
 */
export function outputSchemaOf({ name, outputSchema: output, stream }: Tool): JsonSchema | undefined {
  const schema = output && jsonSchemaOf(name, "output", output);
  return stream ? arraySchema(schema ?? {}) : schema;
}

function compiledInput({ name, inputSchema: input }: ToolInput): CompiledSchema {
  const hit = compiledForm(input) ?? librarySchemas.get(input);
  if (hit) return hit;
  const compiled = compileSchema(silentWhereUnsaid(input["~standard"].vendor, jsonSchemaOf(name, "input", input)));
  librarySchemas.set(input, compiled);
  return compiled;
}

/**
 * The JSON Schema that effect gives says `additionalProperties: true` of every struct, even if effect drops such
 * fields. An open struct of effect (`StructWithRest`) has a schema for them.
 */
function silentWhereUnsaid(vendor: string, schema: JsonSchema): JsonSchema {
  if (vendor !== "effect") return schema;
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === "additionalProperties" && value === true ? undefined : value,
    ),
  ) as JsonSchema;
}

/**
 * A copy of a schema that says `additionalProperties: false` in each part that names fields and is silent about others.
 * Parts that share a value with other parts stay as they are: a closed part would refuse the fields of the others.
 */
function closedSchema({ root }: CompiledSchema): JsonSchema {
  const parts = reach([root], partsAsserted);
  const sharing = [...parts].flatMap((node) => (partsThatShare(node) > 1 ? inPlaceOf(node) : []));
  const kept = reach(sharing, inPlaceOf);
  const tested = reach([...parts].flatMap(partsTested), childNodes);
  const toClose = new Set<unknown>();
  for (const node of parts)
    if (isSilent(node) && inPlaceOf(node).length === 0 && !kept.has(node) && !tested.has(node))
      toClose.add(node.schema);
  const copy = (value: unknown): unknown => {
    if (!isAnyObject(value)) return value;
    if (Array.isArray(value)) return value.map(copy);
    const fields = Object.entries(value).map(([key, field]) => [key, copy(field)] as const);
    return Object.fromEntries(toClose.has(value) ? [...fields, ["additionalProperties", false]] : fields);
  };
  return copy(root.schema) as JsonSchema;
}

/** The nodes and all that they lead to. */
function reach(starts: readonly SchemaNode[], next: (node: SchemaNode) => readonly SchemaNode[]): Set<SchemaNode> {
  const reached = new Set(starts);
  for (const node of reached) for (const other of next(node)) reached.add(other);
  return reached;
}

function isSilent({ properties, additionalProperties, unevaluatedProperties }: SchemaNode): boolean {
  return properties !== undefined && !additionalProperties && !unevaluatedProperties;
}

/** Number of parts that speak about the value of a node: its own keywords, and what it refers to for the same value. */
function partsThatShare(node: SchemaNode): number {
  const alternatives = [node.anyOf, node.oneOf].filter((list) => list !== undefined);
  return (
    Number(node.properties !== undefined) +
    inPlaceOf(node).length +
    alternatives.reduce((all, list) => all - list.length + 1, 0)
  );
}

/** Parts that only test a value: if they were closed, the test would have another outcome. */
function partsTested(node: SchemaNode): readonly SchemaNode[] {
  return [node.not, node.if, node.contains].filter((part) => part !== undefined);
}

function partsAsserted(node: SchemaNode): readonly SchemaNode[] {
  const tested = new Set(partsTested(node));
  return childNodes(node).filter((part) => !tested.has(part));
}
