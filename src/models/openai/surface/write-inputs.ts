import type { Fields } from "../../../values/fields.ts";
import type { MessagePart } from "../../model.ts";
import type { AskedInput } from "../../surface/surface.ts";
import { CONTENT } from "../responses/request.ts";

/** The input items of a response, as their list: the other end of `readItems`. */
export function writeInputs(inputs: readonly AskedInput[]): Fields {
  const data = inputs.map(inputItem);
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: false,
  };
}

function inputItem(input: AskedInput): Fields {
  const { id } = input;
  if (input.type === "answer") {
    const [type, prefix] = input.isOfText ? ["custom_tool_call_output", "ctco"] : ["function_call_output", "fco"];
    const output = { type, call_id: id, output: input.text, status: "completed" };
    return { ...output, id: `${prefix}_${id.replace(/^[a-z]+_/, "")}` };
  }
  const { message } = input;
  const content = typeof message === "string" ? [CONTENT.text(message)] : message.map(partOf);
  return { type: "message", id, role: "user", status: "completed", content };
}

function partOf(part: MessagePart): Fields {
  if (part.type === "text") return CONTENT.text(part.text);
  if (part.type !== "link") return CONTENT.data(part);
  return CONTENT.link?.(part.url, part.mediaType?.startsWith("image/") === true) ?? CONTENT.text(part.url);
}
