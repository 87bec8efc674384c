import { setImmediate } from "node:timers/promises";
import { PortcullisError } from "../../errors.ts";
import { defineTool } from "../../tools/define-tool.ts";
import { oneLine } from "../../tools/one-line.ts";
import { jsonSchema } from "../../tools/schema.ts";
import type { CallContext, Tool } from "../../tools/tool.ts";
import { nameClashes } from "../name-clashes.ts";
import { checkPolicy, type ToolPolicy } from "../tool-policy.ts";
import { entryName, type ListedTool, type McpAnnotations, readListed } from "./listed-tool.ts";
import { type ParamHeader, paramHeaders } from "./param-headers.ts";
import { toolPath } from "./tool-path.ts";
import type { Message } from "./wire.ts";

/**
 * One policy for all tools of a server, or a function from a tool's own name at the server and its annotations. A tool that
 * no policy is given for is left to no caller.
 */
export type McpPolicies = ToolPolicy | ((name: string, annotations: McpAnnotations) => ToolPolicy | undefined);

/** A tool that no caller may call, because nothing was said about it. */
export interface UnassignedTool {
  /** The name that it would have in a program. */
  readonly name: string;
  /** The server's own name of the tool. */
  readonly original: string;
  readonly annotations: McpAnnotations;
}

/** What a call of a server's tool needs. */
export interface ServerTool {
  readonly listed: ListedTool;
  readonly headers: readonly ParamHeader[];
}

export interface ToolList {
  readonly tools: readonly Tool[];
  readonly unassigned: readonly UnassignedTool[];
  /** Entries of the server's list that are no tools here, each with the reason. */
  readonly problems: readonly string[];
  /** Every tool of the list, also those of no caller, by the server's own name. */
  readonly listed: ReadonlyMap<string, ListedTool>;
  /** The server's own name of each tool, by its name here. */
  readonly originalOf: ReadonlyMap<string, string>;
  readonly known: KnownTools;
}

/** Tools by name and definition. */
export type KnownTools = ReadonlyMap<string, Tool>;

export interface ListReader {
  readonly source: string;
  readonly policies: McpPolicies | undefined;
  readonly timeoutMs: number;
  readonly call: (tool: ServerTool, name: string, input: unknown, context: CallContext) => Promise<unknown>;
  /** The tools of the list before: one that has not changed stays the same tool. */
  readonly known?: KnownTools;
}

/** Characters of a problem; it may quote the server. */
const PROBLEM_LENGTH = 500;
/** Entries that are read, and tools that are made, before other work gets the thread. */
const AT_ONCE = 50;

/**
 * Makes tools of the entries of a server's list. Rejects with `option_invalid` for a policy that is invalid; everything
 * that is wrong with an entry is a problem.
 */
export async function readToolList(reader: ListReader, entries: readonly unknown[]): Promise<ToolList> {
  const problems: string[] = [];
  const leaveOut = (name: string, why: string) => {
    problems.push(`${oneLine(`${name} is left out: ${why.replace(/\.$/, "")}`, PROBLEM_LENGTH)}.`);
  };
  const listed = new Map<string, ListedTool>();
  const named: Named[] = [];
  for (const [index, entry] of entries.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
    const read = readListed(entry);
    if (typeof read === "string") leaveOut(entryName(entry), read);
    else if (listed.has(read.original)) leaveOut(entryName(entry), "the server lists a tool of this name before");
    else {
      listed.set(read.original, read);
      named.push(nameOf(reader, read));
    }
  }
  const clashing = nameClashes(named);
  const tools: Tool[] = [];
  const known = new Map<string, Tool>();
  const unassigned: UnassignedTool[] = [];
  for (const [index, one] of named.entries()) {
    const { name, policy, listed: tool } = one;
    const rival = clashing.get(one);
    if (rival) leaveOut(JSON.stringify(tool.original), clash(one, rival));
    else if (policy) {
      const made = toolOf(reader, one, policy);
      if (typeof made === "string") leaveOut(JSON.stringify(tool.original), made);
      else {
        tools.push(made);
        known.set(keyOf(name, tool), made);
      }
    } else unassigned.push({ name, original: tool.original, annotations: tool.annotations });
    if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
  }
  const originalOf = new Map(named.map(({ name, listed: { original } }) => [name, original]));
  return { tools, unassigned, problems, listed, originalOf, known };
}

interface Named {
  readonly listed: ListedTool;
  readonly name: string;
  readonly policy: ToolPolicy | undefined;
}

function nameOf({ source, policies }: ListReader, listed: ListedTool): Named {
  const { original, annotations } = listed;
  const given = typeof policies === "function" ? policies(original, annotations) : policies;
  const policy = given === undefined ? undefined : checkPolicy(original, given);
  return { listed, policy, name: toolPath(source, policy?.name ?? original) };
}

function clash(one: Named, other: Named): string {
  return `its name ${one.name} clashes with ${other.name} of ${JSON.stringify(other.listed.original)}; give one of them a name in its policy`;
}

/** The tool, or why there is none. */
function toolOf(reader: ListReader, { listed, name }: Named, policy: ToolPolicy): Tool | string {
  const known = reader.known?.get(keyOf(name, listed));
  if (known) return known;
  const { source, timeoutMs, call } = reader;
  try {
    const { inputSchema, outputSchema, description } = listed;
    const served = { listed, headers: paramHeaders(inputSchema) };
    return defineTool({
      timeoutMs,
      ...policy,
      source,
      name,
      description,
      input: schemaOf("inputSchema", inputSchema),
      ...(outputSchema === undefined ? {} : { output: schemaOf("outputSchema", outputSchema) }),
      handler: (input, context) => call(served, name, input, context),
    });
  } catch (error) {
    if (!PortcullisError.is(error)) throw error;
    return error.message;
  }
}

function keyOf(name: string, { digest }: ListedTool): string {
  return `${name} ${digest}`;
}

function schemaOf(which: string, given: Message) {
  const { $schema: _, ...schema } = given;
  try {
    return jsonSchema(schema);
  } catch (error) {
    if (!PortcullisError.is(error)) throw error;
    throw new PortcullisError("tool_invalid", `${which}: ${error.message.replace("jsonSchema(schema): ", "")}`, {
      cause: error,
    });
  }
}
