import type { TextFormat } from "../../../../tools/text-format.ts";
import type { Caller } from "../../../../tools/tool.ts";
import { fieldOf, type Fields, isFields, textOf } from "../../../../base/index.ts";
import type { ToolChoice } from "../../../../models/model.ts";
import { type AskedTool, type AskedTools, refused } from "../surface.ts";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const PROGRAMS = "programmatic_tool_calling";

/** The tools of a request: the other end of `declareTools` in `../../../../models/openai/responses/request.ts`. */
export function readTools(body: unknown): AskedTools {
  const given = fieldOf(body, "tools") ?? [];
  if (!Array.isArray(given)) throw refused("tools", "expected an array");
  const tools: AskedTool[] = [];
  const has = { programs: false, search: false };
  for (const [index, tool] of (given as readonly unknown[]).entries()) {
    const place = `tools[${index}]`;
    if (!isFields(tool)) throw refused(place, "expected an object");
    switch (tool.type) {
      case "function":
      case "custom":
        tools.push(readOwn(tool, place));
        break;
      case "namespace":
        tools.push(...readNamespace(tool, place));
        break;
      case PROGRAMS:
        has.programs = tool.enabled !== false;
        break;
      case "tool_search":
        if ((tool.execution ?? "server") === "client")
          throw refused(`${place}.execution`, "this server does not offer searches that the client makes");
        has.search = true;
        break;
      default:
        throw refused(`${place}.type`, notOffered(tool.type));
    }
  }
  refuseTogether(tools, has);
  return { tools, programs: has.programs };
}

function notOffered(type: unknown): string {
  const name = typeof type === "string" ? `'${type.slice(0, 100)}'` : "this type";
  return `this server does not offer ${name}: it offers function, custom, namespace, tool_search and ${PROGRAMS}`;
}

function readNamespace(tool: Fields, place: string): readonly AskedTool[] {
  const { name, tools } = tool;
  if (typeof name !== "string" || !NAME.test(name)) throw refused(`${place}.name`, "expected a name like crm");
  if (!Array.isArray(tools)) throw refused(`${place}.tools`, "expected an array");
  return (tools as readonly unknown[]).map((one, index) => {
    const at = `${place}.tools[${index}]`;
    const type = fieldOf(one, "type");
    if (!isFields(one) || (type !== "function" && type !== "custom"))
      throw refused(`${at}.type`, "this server offers function and custom tools in a namespace");
    return { ...readOwn(one, at), namespace: name };
  });
}

/** A tool that the client has itself. */
function readOwn(tool: Fields, place: string): AskedTool {
  const { name, description } = tool;
  if (typeof name !== "string" || !NAME.test(name))
    throw refused(`${place}.name`, "expected a string that matches '^[a-zA-Z0-9_-]+$', of at most 64 characters");
  return {
    name,
    description: typeof description === "string" ? description : "",
    ...(tool.type === "custom" ? { input: {}, textFormat: readTextFormat(tool, place) } : readFunction(tool, place)),
    callers: readCallers(tool, place),
    isDeferred: tool.defer_loading === true,
    place,
  };
}

function readTextFormat({ format }: Fields, place: string): TextFormat {
  const type = textOf(format, "type");
  if (format === undefined || format === null || type === "text") return "text";
  const regex = textOf(format, "definition");
  if (type === "grammar" && textOf(format, "syntax") === "regex" && regex !== undefined) return { regex };
  throw refused(`${place}.format`, "this server offers text, and grammars of the syntax regex");
}

function readFunction(tool: Fields, place: string): Pick<AskedTool, "input" | "output"> {
  const { parameters, output_schema: output } = tool;
  if (tool.async === true) throw refused(`${place}.async`, "this server does not offer it");
  const input = parameters ?? { type: "object", properties: {} };
  if (!isFields(input) || input.type !== "object")
    throw refused(`${place}.parameters`, `schema must be a JSON Schema of 'type: "object"'`);
  if (output !== undefined && output !== null && !isFields(output))
    throw refused(`${place}.output_schema`, "expected an object");
  return { input, ...(isFields(output) ? { output } : {}) };
}

function readCallers(tool: Fields, place: string): readonly Caller[] {
  const given = tool.allowed_callers ?? ["direct"];
  const isList = Array.isArray(given) && given.length > 0;
  if (!isList || !given.every((caller) => caller === "direct" || caller === "programmatic"))
    throw refused(`${place}.allowed_callers`, "expected a list of 'direct' and 'programmatic'");
  return [...new Set(given as readonly Caller[])];
}

function refuseTogether(
  tools: readonly AskedTool[],
  has: { readonly programs: boolean; readonly search: boolean },
): void {
  const names = new Set<string>();
  for (const { name, namespace = "", callers, place, isDeferred } of tools) {
    if (names.has(`${namespace} ${name}`)) throw refused(`${place}.name`, `there are two tools ${name}`);
    names.add(`${namespace} ${name}`);
    if (!has.programs && callers.includes("programmatic"))
      throw refused(`${place}.allowed_callers`, `{ type: "${PROGRAMS}" } must be among the tools`);
    if (isDeferred && !has.search)
      throw refused(`${place}.defer_loading`, `{ type: "tool_search" } must be among the tools`);
  }
}

/** `run_program` stands for the programs of the provider. */
export function readChoice(body: unknown, { tools, programs }: AskedTools, runProgram: string): ToolChoice | undefined {
  const choice = fieldOf(body, "tool_choice");
  if (choice === undefined || choice === null || choice === "auto") return undefined;
  if (choice === "none") return "none";
  const hasTools = tools.length > 0 || programs;
  if (choice === "required" && hasTools) return "required";
  const type = textOf(choice, "type");
  const name = textOf(choice, "name");
  if (type === PROGRAMS && programs) return { tool: runProgram };
  if ((type === "function" || type === "custom") && tools.some((tool) => tool.name === name))
    return { tool: String(name) };
  throw refused("tool_choice", "this server offers none, auto, required, and a tool that is among the tools");
}
