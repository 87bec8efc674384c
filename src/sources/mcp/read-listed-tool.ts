import { describe, fieldOf, isFields, LargeEntry, PARSED_VALUES, sizeFault } from "../../base/index.ts";
import { hash } from "node:crypto";
import { type Message, dropNulls } from "./wire/wire.ts";
import { currentDraft } from "../../tools/json-schema/index.ts";

/** What a server says of a tool. It binds the server to nothing, and grants nothing. */
export interface McpAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** What is kept of a tool that a server lists. Its schemas are in the tool that is made of it. */
export type KnownEntry = Pick<ServerListedTool, "original" | "annotations" | "digest">;

export interface ServerListedTool {
  readonly original: string;
  readonly description: string;
  readonly inputSchema: Message;
  readonly outputSchema: Message | undefined;
  readonly outputFault: string | undefined;
  readonly annotations: McpAnnotations;
  readonly digest: string;
}

/** Characters of a tool's name, and of its description. The description is shown to models as a whole. */
const NAME_LENGTH = 256;
const DESCRIPTION_LENGTH = 16 * 1024;
const SCHEMA_BOUNDS = { depth: 200, values: 20_000, characters: 1024 * 1024 };

/** The tool, or why an entry of a list is no tool. */
export function readListed(entry: unknown): ServerListedTool | string {
  if (entry instanceof LargeEntry) return `it has more than ${PARSED_VALUES} values`;
  if (!isFields(entry)) return `it is ${describe(entry)}, not a tool`;
  const { name, description, inputSchema: input = {}, outputSchema, execution, _meta } = dropNulls(entry, 1) as Message;
  if (typeof name !== "string" || name === "") return `its name is ${describe(name)}`;
  if (name.length > NAME_LENGTH) return `its name has ${name.length} characters, at most ${NAME_LENGTH} are taken`;
  const annotations = annotationsOf(entry);
  const text = typeof description === "string" && description.trim() !== "" ? description : (annotations.title ?? name);
  if (text.length > DESCRIPTION_LENGTH)
    return `its description has ${text.length} characters, at most ${DESCRIPTION_LENGTH} are taken`;
  if (isFields(execution) && execution.taskSupport === "required")
    return "it can be called only as a task, which is not supported";
  const visibility = fieldOf(fieldOf(_meta, "ui"), "visibility");
  if (![visibility ?? "model"].flat().includes("model"))
    return "it is for the server's own pages, not for models (_meta.ui.visibility)";
  // PHP writes an empty list for an empty object.
  const inputSchema = Array.isArray(input) && input.length === 0 ? {} : input;
  const fault = faultOf(inputSchema);
  if (!isFields(inputSchema) || fault !== undefined) return `its inputSchema ${fault}`;
  const outputFault = outputSchema === undefined ? undefined : faultOf(outputSchema);
  const tool = {
    original: name,
    description: text,
    // Without a type it says that there are no fields.
    inputSchema: currentDraft({ ...inputSchema, type: inputSchema.type ?? "object" }),
    outputSchema: outputFault === undefined ? (outputSchema as Message | undefined) : undefined,
    outputFault,
    annotations,
  };
  return { ...tool, digest: hash("sha256", JSON.stringify(tool)) };
}

function faultOf(schema: unknown): string | undefined {
  return isFields(schema) ? sizeFault(schema, SCHEMA_BOUNDS) : `is ${describe(schema)}, not a JSON Schema`;
}

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

function annotationsOf({ title, annotations }: Message): McpAnnotations {
  const fields = isFields(annotations) ? annotations : {};
  const shown = typeof title === "string" ? title : fields.title;
  return {
    ...(typeof shown === "string" && shown.trim() !== "" ? { title: shown.slice(0, NAME_LENGTH) } : {}),
    ...Object.fromEntries(HINTS.flatMap((hint) => (typeof fields[hint] === "boolean" ? [[hint, fields[hint]]] : []))),
  };
}

export function entryName(entry: unknown): string {
  return isFields(entry) && typeof entry.name === "string"
    ? JSON.stringify(entry.name.slice(0, 64))
    : "a tool without a name";
}
