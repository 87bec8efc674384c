import { Pace, PortcullisError, without } from "../../base/index.ts";
import { defineTool, refuseUnnamedFields, runsAt } from "../../tools/define-tool.ts";
import { givingText } from "../../tools/text-results.ts";
import { withWholeNumbers } from "../../tools/whole-numbers.ts";
import { mapSchema, PatternStates } from "../../tools/json-schema/index.ts";
import { lazySchema, schemaReason, SOURCE_STATES, SOURCE_STEPS, storedSchema } from "../../tools/schema.ts";
import type { CallContext, Tool } from "../../tools/tool.ts";
import { omissionText, nameClashes, uncheckedPart } from "../name-clashes.ts";
import { checkPolicy, sourceContext, type ToolPolicy, withResult } from "../tool-policy.ts";
import {
  entryName,
  type KnownEntry,
  type ServerListedTool,
  type McpAnnotations,
  readListed,
} from "./read-listed-tool.ts";
import { type ParamHeader, paramHeaders } from "./wire/param-headers.ts";
import { callingTool, type ProtocolMethod } from "./protocol-method.ts";
import { namingResources, READER, readingResource } from "./resources.ts";
import type { Message } from "./wire/wire.ts";
import { identifierOf } from "../../tools/tool-name.ts";

/**
 * One policy for all tools of a server, or a function from a tool's own name at the server and its annotations. Without
 * a policy a tool is left to no caller. If the function returns false, that is decided, and the tool is not among the
 * unassigned tools.
 */
export type McpPolicies = ToolPolicy | ((name: string, annotations: McpAnnotations) => ToolPolicy | false | undefined);

/** A tool that no caller may call, because nothing was said about it. */
export interface UnassignedTool {
  /** The name that it would have in a program. */
  readonly name: string;
  /** The server's own name of the tool. */
  readonly original: string;
  readonly annotations: McpAnnotations;
}

export interface ServerTool {
  readonly listed: KnownEntry;
  readonly headers: readonly ParamHeader[];
  /** Whether its results are of a schema that the server declares. */
  readonly declared: boolean;
  readonly sent: (input: unknown) => unknown;
  readonly method: ProtocolMethod;
}

/** An entry of a server's list that can be read. */
export interface ListEntry {
  readonly listed: KnownEntry;
  /** The name that its tool has, or would have, in a program. */
  readonly name: string;
  /** Undefined without a policy, false if no caller is to have it, or if it cannot be made. */
  readonly result: MadeTool | false | undefined;
}

export interface ToolList {
  readonly entries: readonly ListEntry[];
  readonly problems: readonly string[];
}

interface MadeTool {
  readonly tool: Tool;
  readonly unchecked: readonly string[];
}

export function toolsOf(entries: readonly ListEntry[]): readonly Tool[] {
  return entries.flatMap(({ result }) => (result ? [result.tool] : []));
}

export function unassignedOf(entries: readonly ListEntry[]): readonly UnassignedTool[] {
  const without = entries.filter(({ result }) => result === undefined);
  return without.map(({ name, listed: { original, annotations } }) => ({ name, original, annotations }));
}

export interface ListReader {
  readonly source: string;
  readonly policies: McpPolicies | undefined;
  readonly timeoutMs: number;
  readonly resources?: boolean;
  readonly call: (tool: ServerTool, name: string, input: unknown, context: CallContext) => Promise<unknown>;
  readonly answeredBy?: () => string;
  /** Of the list before. A tool that has not changed stays the same object. */
  readonly lastEntries?: readonly ListEntry[];
}

/** Makes tools of the entries of a server's list. The entries are not kept, so that a list may be read page by page. */
export class ToolListBuilder {
  readonly #reader: ListReader;
  readonly #problems: string[] = [];
  readonly #originals = new Set<string>();
  readonly #entries: ListEntry[] = [];
  readonly #results: ReadonlyMap<string, ListEntry["result"]>;
  readonly #states = new PatternStates(SOURCE_STATES);
  readonly #pace = new Pace();

  constructor(reader: ListReader) {
    this.#reader = reader;
    this.#results = new Map(
      reader.lastEntries?.map(({ name, listed, result }) => [`${name} ${listed.digest}`, result]),
    );
  }

  /** Reads further entries. Rejects with `option_invalid` for a policy that is invalid. */
  async add(entries: readonly unknown[]): Promise<void> {
    const method = this.#reader.resources ? namingResources(callingTool) : callingTool;
    for (const entry of entries) {
      await this.#pace.rest();
      this.#take(entry, method);
    }
  }

  /** Adds the tool that reads what results have named. A tool of the server that has its name stays as it is. */
  addReader(): void {
    this.#take(READER, readingResource);
  }

  #take(entry: unknown, method: ProtocolMethod): void {
    const read = readListed(entry);
    if (typeof read === "string") return this.#leaveOut(entryName(entry), read);
    const { original, annotations, digest } = read;
    if (this.#originals.has(original))
      return this.#leaveOut(entryName(entry), "the server lists a tool of this name before");
    const listed = { original, annotations, digest };
    this.#originals.add(original);
    const { source, policies } = this.#reader;
    const rawPolicy = typeof policies === "function" ? policies(original, annotations) : policies;
    const policy = rawPolicy === undefined || rawPolicy === false ? rawPolicy : checkPolicy(original, rawPolicy);
    const name = toolPath(source, (policy ? policy.name : undefined) ?? original);
    const result =
      policy && (this.#results.get(`${name} ${digest}`) || this.#toolOf(read, name, policy, { listed, method }));
    this.#entries.push({ listed, name, result });
  }

  async finish(): Promise<ToolList> {
    const clashing = nameClashes(this.#entries);
    const entries: ListEntry[] = [];
    for (const one of this.#entries) {
      await this.#pace.rest();
      const { name, result, listed } = one;
      const rival = clashing.get(one);
      if (rival) this.#leaveOut(JSON.stringify(listed.original), clash(one, rival));
      else if (result && result.unchecked.length > 0) this.#problems.push(uncheckedPart(name, result.unchecked));
      entries.push(rival ? { ...one, result: false } : one);
    }
    return { entries, problems: this.#problems };
  }

  #leaveOut(name: string, why: string): void {
    this.#problems.push(omissionText(name, why));
  }

  #toolOf(
    { inputSchema, outputSchema, outputFault, description }: ServerListedTool,
    name: string,
    policy: ToolPolicy,
    served: Pick<ServerTool, "listed" | "method">,
  ): MadeTool | false {
    const { source, timeoutMs, call, answeredBy } = this.#reader;
    try {
      refuseUnnamedFields(name, inputSchema);
      const unchecked = outputFault === undefined ? [] : [`its outputSchema ${outputFault}`];
      const schemaOf = (schema: Message, side: string) =>
        schemaFrom(schema, this.#states, (why) => void unchecked.push(`of its ${side}, ${why}`));
      // A model reads of the other fields of an input, also where a part of it is none.
      const whole = schemaOf(inputSchema, "input");
      const input = whole ?? schemaFrom(inputSchema, this.#states, () => {}, true);
      // Formats describe a result, and bind no server: those of Python say `date-time` of times without a zone.
      const unbound = outputSchema && (mapSchema(outputSchema, (part) => without(part, "format")) as Message);
      const output = unbound && schemaOf(unbound, "output");
      const sent = (value: unknown) => (input ? withWholeNumbers(value, input) : value);
      const whom = { ...served, headers: paramHeaders(inputSchema), declared: output !== undefined, sent };
      const run = givingText((fields, context) => call(whom, name, fields, sourceContext(policy, context)));
      const tool = defineTool({
        timeoutMs,
        ...withResult(policy, output, run),
        ...(served.method === readingResource && { effect: "read" }),
        source,
        name,
        description,
        inputSchema: input ?? ANY_FIELDS,
        ...(!whole && { unknownFields: "allow" as const }),
      });
      return { tool: runsAt(`mcp ${source}`, tool, answeredBy), unchecked };
    } catch (error) {
      if (!PortcullisError.is(error)) throw error;
      this.#leaveOut(JSON.stringify(served.listed.original), error.message);
      return false;
    }
  }
}

function clash(one: ListEntry, other: ListEntry): string {
  return `its name ${one.name} clashes with ${other.name} of ${JSON.stringify(other.listed.original)}; give one of them a name in its policy`;
}

/** The input of a tool whose own schema cannot be checked: the server checks it. */
const ANY_FIELDS = lazySchema(() => ({ type: "object" }), { checks: false });

/** A schema of a list, held as its text. Undefined if it cannot be checked; a pattern that cannot be is left out of the check. */
function schemaFrom(json: Message, states: PatternStates, onUnchecked: (why: string) => void, leavesFaults?: boolean) {
  const { $schema: _, ...schema } = json;
  try {
    return storedSchema(schema, { maxSteps: SOURCE_STEPS, states, onUnchecked, leavesFaults });
  } catch (error) {
    if (!PortcullisError.is(error)) throw error;
    onUnchecked(schemaReason(error));
    return undefined;
  }
}

/** A name as a path of identifiers. */
export function cleanPath(name: string): string {
  return name.split(".").map(identifierOf).join(".");
}

/** The name of a server's tool in a program: the source's name, a dot, and the tool's own name as a path. */
export function toolPath(source: string, original: string): string {
  return `${source}.${cleanPath(original)}`;
}
