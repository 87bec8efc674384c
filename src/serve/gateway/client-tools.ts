import type { SlicedWork } from "../../base/index.ts";
import { type AskedTool, groupedName, orRefused, invalidField } from "./surface/surface.ts";
import { CLIENT_TEXT_STEPS, textTool } from "../../tools/define-text-tool.ts";
import { defineTool, runsAt } from "../../tools/define-tool.ts";
import { PatternStates } from "../../tools/json-schema/index.ts";
import { compiledForm, storedSchema } from "../../tools/schema.ts";
import { identifierOf, RUN_PROGRAM, toolNameFault } from "../../tools/tool-name.ts";
import type { Tool } from "../../tools/tool.ts";

/** Tools of one request. */
const MOST_TOOLS = 1000;
/** States that the patterns of all tools of one request may have together. */
const MOST_STATES = 100_000;

/** Characters of a client's name that are in the name that a tool gets. */
export const LONGEST = 60;

export type ClientTools = ReturnType<typeof clientTools> extends SlicedWork<infer Held> ? Held : never;

/**
 * A client's tools as tools of a conversation: their calls wait for the client. They are made with a pause after each. Throws
 * `RefusedAsk` for a tool that cannot be made.
 */
export function* clientTools(tools: readonly AskedTool[]) {
  if (tools.length > MOST_TOOLS)
    throw invalidField(
      "tools",
      `this server takes at most ${MOST_TOOLS} tools in one request, and these are ${tools.length}`,
    );
  const byName = new Map<string, AskedTool>();
  const own = new Map<string, string>();
  /** How many tools have had a name before numbers made it their own. */
  const alike = new Map<string, number>();
  for (const tool of tools) {
    const { name, namespace } = tool;
    const whole = [namespace ?? [], name].flat().map(identifier).join(".");
    let number = (alike.get(whole) ?? 0) + 1;
    let slug = number === 1 ? whole : `${whole}_${number}`;
    for (; slug === RUN_PROGRAM || toolNameFault(slug) !== undefined || byName.has(slug); slug = `${whole}_${number}`)
      number += 1;
    alike.set(whole, number);
    byName.set(slug, tool);
    own.set(keyOf(tool), slug);
    // A choice names a tool of a group by its name alone.
    if (!own.has(name)) own.set(name, slug);
  }
  const states = new PatternStates(MOST_STATES);
  const all: Tool[] = [];
  for (const [name, tool] of byName) {
    const ownTool = toolOf(name, tool, states);
    // Which name a tool gets depends on the others of its request: the journal says whose it is.
    all.push(keyOf(tool) === name ? ownTool : runsAt(`client ${keyOf(tool)}`, ownTool));
    yield;
  }
  return {
    all: all as readonly Tool[],
    /** The tool of the client by the name that it has in the conversation. */
    clientTool: (own: string) => byName.get(own),
    /** The name in the conversation; the given one if there is no such tool. Of a tool in a group, `name` is `groupedName`. */
    own: (name: string) => own.get(name) ?? name,
  };
}

function keyOf({ name, namespace }: Pick<AskedTool, "name" | "namespace">): string {
  return namespace === undefined ? name : groupedName(namespace, name);
}

/** A part of a name that is valid, and stays so with more characters after it. */
function identifier(name: string): string {
  return identifierOf(name.slice(0, LONGEST));
}

function toolOf(name: string, asked: AskedTool, states: PatternStates): Tool {
  const { description, inputSchema: input, textFormat, outputSchema: output, callers, isDeferred, place } = asked;
  return orRefused(place, () => {
    const about = {
      name,
      description: description.trim() === "" ? name : description,
      outputSchema: output && storedSchema(output, { states }),
      allowedCallers: callers,
      // The client itself decides what a call changes, and when it is made.
      effect: "read" as const,
      ...(isDeferred ? { defer: true } : { pinned: true }),
      execute: "client" as const,
    };
    if (textFormat === undefined)
      return defineTool({ ...about, inputSchema: storedSchema(input, { states }), unknownFields: "allow" });
    const tool = textTool({ ...about, format: textFormat }, CLIENT_TEXT_STEPS);
    const unfit = states.take(compiledForm(tool.inputSchema)?.states ?? 0);
    if (unfit !== undefined) throw invalidField(place, `its format ${unfit}.`);
    return tool;
  });
}
