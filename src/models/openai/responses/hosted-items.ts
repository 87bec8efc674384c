import { fieldOf, type Fields, isFields, listOf, textOf } from "../../../base/index.ts";
import { inputOf as parsedInput } from "../../turn/program-input.ts";

/** What OpenAI's own tools are called in items, and the fields of an item that are the input of its call. */
const INPUTS: Readonly<Record<string, readonly string[]>> = {
  web_search_call: ["action"],
  file_search_call: ["queries"],
  code_interpreter_call: ["code"],
  image_generation_call: [],
  mcp_call: ["arguments"],
};

const OTHERS = "message reasoning compaction function_call custom_tool_call program program_output mcp_list_tools";
const READ: ReadonlySet<unknown> = new Set([...Object.keys(INPUTS), ...OTHERS.split(" ")]);

/** Whether items of this kind are read. */
export function isRead({ type }: Fields): boolean {
  return READ.has(type);
}

/** A call that OpenAI made itself, with what it gave; undefined for any other item. */
export function hostedCallOf(item: Fields) {
  const type = textOf(item, "type") ?? "";
  const call = textOf(item, "id");
  if (!Object.hasOwn(INPUTS, type) || !call) return undefined;
  const [fault, action] = [fieldOf(item, "error"), fieldOf(item, "action")];
  const printed =
    type === "code_interpreter_call" ? listOf(item, "outputs").map((one) => textOf(one, "logs") ?? "") : [];
  const output = typeof fault === "string" ? fault : (textOf(item, "output") ?? (printed.join("\n") || undefined));
  return {
    call,
    tool:
      type === "mcp_call"
        ? `${textOf(item, "server_label") ?? "mcp"}.${textOf(item, "name") ?? ""}`
        : type.slice(0, -"_call".length),
    input: inputOf(type, item),
    isError: textOf(item, "status") === "failed" || (fault !== undefined && fault !== null),
    output,
    sources: [...listOf(action, "sources"), action, ...listOf(item, "results")],
  };
}

/** Without the sources of a search, which are what it gave. */
function inputOf(type: string, item: Fields): unknown {
  const [field] = INPUTS[type] ?? [];
  const input = field === undefined ? {} : fieldOf(item, field);
  if (!isFields(input)) return typeof input === "string" && type === "mcp_call" ? (parsedInput(input) ?? input) : input;
  const { sources: _, ...asked } = input;
  return asked;
}
