import { fieldOf, type Fields, listOf, textOf } from "../../../values/fields.ts";
import type { HostedNews } from "../../model.ts";
import { hostedEnd, hostedStart } from "../../turn/hosted-calls.ts";

const CALL = "_call";
const RESULT = "_result";

/** Whether steps of this kind are read. */
export function isRead({ type }: Fields): boolean {
  return type === "model_output" || type === "thought" || /_(?:call|result)$/.test(String(type));
}

/** What Gemini ran itself: a step is a call of it or the result of one, and no function of ours. */
export function hostedStepNews(step: Fields): readonly HostedNews[] {
  const type = textOf(step, "type") ?? "";
  if (type === "function_call" || type === "function_result") return [];
  const call = textOf(step, "id");
  if (type.endsWith(CALL) && call) {
    const tool = toolOf(step, type.slice(0, -CALL.length));
    const input = fieldOf(step, "arguments") ?? {};
    return [hostedStart({ call, tool, input: textOf(input, "code") ?? input })];
  }
  const ended = textOf(step, "call_id");
  if (!type.endsWith(RESULT) || !ended) return [];
  const about = { call: ended, tool: toolOf(step, type.slice(0, -RESULT.length)) };
  const texts = listOf(step, "result").flatMap((part) => textOf(part, "text") ?? []);
  const output = textOf(step, "result") ?? texts.join("\n");
  return [
    hostedEnd(about, {
      isError: step.is_error === true,
      ...(output === "" ? {} : { output }),
      sources: listOf(step, "result"),
    }),
  ];
}

function toolOf(step: Fields, kind: string): string {
  if (kind !== "mcp_server_tool") return kind;
  return `${textOf(step, "server_name") ?? "mcp"}.${textOf(step, "name") ?? ""}`;
}
