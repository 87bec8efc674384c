import { array, describe, isAnyObject, isSlip, nearest, optionError, orMeant, PortcullisError } from "../base/index.ts";
import { isSchema } from "./schema.ts";
import { isMeantBy, namespacesOf, toolNameFault } from "./tool-name.ts";
import type { Caller, Tool, ToolAudience } from "./tool.ts";

/** Rule of an option `tools`; `ToolSet` checks each tool. */
export const TOOLS = array<Tool>("an array of tools made by defineTool");

/** The tools of one runtime, by name. Immutable. */
export class ToolSet {
  readonly #tools = new Map<string, Tool>();
  /** Tools with an `enabled` function. */
  readonly #switched: readonly Tool[];
  /** Sets without some of the tools, by the names of the missing tools. */
  readonly #parts = new Map<string, ToolSet>();

  /**
   * Throws a `PortcullisError`: `option_invalid` for a value that is not a tool, `tool_invalid` for an invalid name,
   * `tools_conflict` if two names conflict. `option` names the tools in an error. With `onConflict` a tool whose name
   * conflicts with one before it is left out.
   */
  constructor(tools: readonly Tool[], option = "tools", onConflict?: (failed: ToolFailure) => void) {
    if (!Array.isArray(tools)) throw optionError(option, TOOLS.expected, tools);
    const inNamespace = new Map<string, string>();
    for (const tool of tools) {
      if (!isTool(tool)) throw optionError(option, "tools made by defineTool", tool);
      const fault = toolNameFault(tool.name);
      if (fault !== undefined)
        throw new PortcullisError("tool_invalid", `"${tool.name}" cannot be the name of a tool: ${fault}.`);
      const conflict = this.#conflictOf(tool.name, inNamespace);
      if (conflict) {
        if (!onConflict) throw conflict;
        onConflict({ tool: tool.name, error: conflict });
        continue;
      }
      this.#tools.set(tool.name, tool);
      for (const namespace of namespacesOf(tool.name)) inNamespace.set(namespace, tool.name);
    }
    this.#switched = this.all.filter(({ enabled }) => enabled !== undefined);
  }

  /**
   * The tools with these names; `crm.*` stands for all whose names begin with `crm.`, and `*` for all. Tools themselves
   * may be among the names. Throws `option_invalid` for a name that no tool has; `option` names the list in the error.
   */
  select(wanted: readonly (Tool | string)[], option: string): ToolSet {
    const tools = new Set(wanted.flatMap((one) => (typeof one === "string" ? this.#named(one, option) : [one])));
    return new ToolSet([...tools], option);
  }

  #named(name: string, option: string): readonly Tool[] {
    const tool = this.#tools.get(name);
    if (tool) return [tool];
    const found = this.all.filter((one) => isMeantBy(name, one.name));
    if (found.length > 0 || name === "*") return found;
    throw new PortcullisError(
      "option_invalid",
      `${option}: the runtime has no tool ${JSON.stringify(name)}${orMeant(name, [...this.#tools.keys()])}`,
    );
  }

  /**
   * The tools that exist for an audience; this set itself if all do. A tool whose `enabled` throws, or gives no
   * boolean, does not exist; `onFailed` is told of it.
   */
  enabledFor(audience: ToolAudience, onFailed: (failed: ToolFailure) => void): ToolSet {
    const off = this.#switched.filter((tool) => !isEnabled(tool, audience, onFailed));
    if (off.length === 0) return this;
    const key = off.map(({ name }) => name).join(" ");
    const hit = this.#parts.get(key);
    if (hit) return hit;
    const part = new ToolSet(this.all.filter((tool) => !off.includes(tool)));
    if (this.#parts.size >= PARTS_KEPT) this.#parts.clear();
    this.#parts.set(key, part);
    return part;
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  get all(): readonly Tool[] {
    return [...this.#tools.values()];
  }

  /**
   * The tools that at least one of these callers may call. A program sees the tools for programs. A model that also
   * writes programs sees both kinds, because it must know the tools that its programs call.
   */
  visibleTo(callers: readonly Caller[]): readonly Tool[] {
    return this.all.filter((tool) => isVisible(tool, callers));
  }

  /** The name that was meant, of a tool that this caller may call. A tool that changes something is named only for a slip of a letter. */
  nearestName(name: string, caller: Caller): string | undefined {
    const names = this.visibleTo([caller]).map((tool) => tool.name);
    const [meant] = nearest(name, names, 1);
    if (meant === undefined) return undefined;
    return this.get(meant)?.effect === "read" || isSlip(name, meant) ? meant : undefined;
  }

  #conflictOf(name: string, inNamespace: ReadonlyMap<string, string>): PortcullisError | undefined {
    const error = (message: string) => new PortcullisError("tools_conflict", `${message}: rename one.`);
    if (this.#tools.has(name)) return error(`Two tools are named "${name}"`);
    const outer = namespacesOf(name).find((namespace) => this.#tools.has(namespace));
    const [tool, inner] = outer === undefined ? [name, inNamespace.get(name)] : [outer, name];
    if (inner === undefined) return undefined;
    return error(`"${tool}" cannot be a tool beside "${inner}", whose namespace has the same name`);
  }
}

/** Sets of enabled tools that are kept for further executions. */
const PARTS_KEPT = 16;

/** A tool that does not exist in a set, and why. */
export interface ToolFailure {
  readonly tool: string;
  readonly error: PortcullisError;
}

function isEnabled(
  { name: tool, enabled }: Tool,
  audience: ToolAudience,
  onFailed: (failed: ToolFailure) => void,
): boolean {
  try {
    const answer: unknown = enabled?.(audience);
    if (typeof answer === "boolean") return answer;
    const got = answer instanceof Promise ? "a promise" : describe(answer);
    throw new PortcullisError("callback_failed", `The function \`enabled\` failed: expected true or false, got ${got}`);
  } catch (cause) {
    const why = PortcullisError.is(cause) ? cause.message : "The function `enabled` failed";
    const message = `${why}. The tool ${tool} does not exist there.`;
    onFailed({ tool, error: new PortcullisError("callback_failed", message, { cause }) });
    return false;
  }
}

/** Whether a value has the fields of a tool that this package relies on. */
function isTool(value: Tool | null): boolean {
  if (!isAnyObject(value)) return false;
  const { name, allowedCallers, inputSchema: input, execute: handler, needsApproval } = value;
  return (
    typeof name === "string" &&
    Array.isArray(allowedCallers) &&
    isSchema(input) &&
    (typeof handler === "function" || handler === "client") &&
    typeof needsApproval === "function"
  );
}

export function areSameTools(tools: readonly Tool[], others: readonly Tool[]): boolean {
  return tools.length === others.length && tools.every((tool, place) => tool === others[place]);
}

export function isVisible(tool: Tool, callers: readonly Caller[]): boolean {
  return tool.allowedCallers.some((caller) => callers.includes(caller));
}
