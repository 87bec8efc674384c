import { hash } from "node:crypto";
import { PROGRAM_SCHEMA } from "../../models/turn/index.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import { SEARCH_INPUT } from "../../tools/search/index.ts";
import type { JsonSchema } from "../../tools/json-schema/index.ts";
import { PLAIN_VENDOR } from "../../tools/schema.ts";
import type { Tool } from "../../tools/tool.ts";
import { inputSchemaOf } from "../../tools/tool-schemas.ts";
import { RESULT_TOOL, RESULT_DESCRIPTION, RESULT_INPUT } from "./program-results.ts";

/** A tool as `tools/list` gives it. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object" } & JsonSchema;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
  };
}

export type ListedTools = ReturnType<typeof listTools>;

/** The tools that a principal is told of, always in the same order. */
export function listTools(runtime: Runtime) {
  const enabled = runtime.enabledTools;
  const direct = enabled.visibleTo(["direct"]);
  const hasPrograms = enabled.visibleTo(["programmatic"]).length > 0 || direct.length === 0;
  const own = new Map(direct.map(({ name }) => [listedName(name), name]));
  const list = async (): Promise<readonly ListedTool[]> => [
    ...(hasPrograms ? await programTools(runtime) : []),
    ...direct.map((tool) => listed(tool, listedName(tool.name))),
  ];
  let tools: ReturnType<typeof list> | undefined;
  return {
    tools: () => (tools ??= list()),
    /** Whether there is a tool for programs. */
    hasPrograms,
    /** Name in the runtime of the tool that is listed under a name; if there is none, the given name, shortened. */
    toolNamed: (name: string) => own.get(name) ?? name.slice(0, 256),
  };
}

/**
 * The name under which a tool is listed. Clients hold older lists, in which it must mean the same tool: so it depends on no
 * other tool, and no other tool can have it. Names of tools have no `-`, and dots only between their parts.
 */
function listedName(name: string): string {
  const readable = name.replaceAll(".", "-");
  if (/^[A-Za-z0-9_-]{1,64}$/.test(readable) && readable !== RESULT_TOOL) return readable;
  return `${readable.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 46)}-${hash("sha256", name).slice(0, 16)}-`;
}

async function programTools(runtime: Runtime): Promise<readonly ListedTool[]> {
  const { run_program: program, search_tools: search } = await runtime.asTool("mcp");
  const entry = ({ name, config }: typeof program | NonNullable<typeof search>, inputSchema: JsonSchema) => {
    const { title, description, annotations } = config;
    return { name, title, description, inputSchema: { ...inputSchema, type: "object" as const }, annotations };
  };
  return [
    entry(program, PROGRAM_SCHEMA),
    ...(search ? [entry(search, SEARCH_INPUT)] : []),
    {
      name: RESULT_TOOL,
      title: "Get the result of a program",
      description: RESULT_DESCRIPTION,
      inputSchema: RESULT_INPUT,
      annotations: { readOnlyHint: true },
    },
  ];
}

function listed(tool: Tool, name: string): ListedTool {
  const { effect, description, inputSchema: input } = tool;
  const { $schema: dialect, ...fields } = inputSchemaOf(tool);
  // A schema from elsewhere keeps its dialect. Schemas of libraries have the protocol's own dialect.
  const isForeign = input["~standard"].vendor === PLAIN_VENDOR && dialect !== undefined;
  const schema = isForeign ? { $schema: dialect, ...fields } : fields;
  return {
    name,
    description,
    inputSchema: { ...(withoutHeaders(schema) as JsonSchema), type: "object" },
    annotations: {
      readOnlyHint: effect === "read",
      destructiveHint: effect === "read" ? undefined : effect === "write",
      idempotentHint: effect === "read" ? undefined : effect === "idempotent",
    },
  };
}

/** A schema of another server may ask clients to send fields in headers too. Only this process sends requests to that server. */
function withoutHeaders(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key === "x-mcp-header" ? undefined : value)));
}
