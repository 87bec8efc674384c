import type Anthropic from "@anthropic-ai/sdk";
import { answerTo, type Client, DEPOT, INPUT, MOST_REQUESTS, QUESTION, STOCK } from "./task.ts";

const PROGRAMS = { type: "code_execution_20260120" as const, name: "code_execution" as const };
const TOOLS = [
  PROGRAMS,
  { name: "depot", description: DEPOT, input_schema: INPUT, allowed_callers: [PROGRAMS.type] },
  { name: "stock", description: STOCK, input_schema: INPUT },
];

/** The official package, with the messages kept by its user. */
export const messages: Client = async (task) => {
  const client = task.gateway.anthropic();
  const history: Anthropic.MessageParam[] = [{ role: "user", content: QUESTION }];
  let container: string | undefined;
  for (let requests = 0; requests < MOST_REQUESTS; requests += 1) {
    const body = {
      model: task.model,
      max_tokens: 1000,
      thinking: { type: "adaptive" as const },
      tools: TOOLS,
      messages: history,
      ...(container === undefined ? {} : { container }),
    };
    const message = task.isStreamed
      ? await client.messages.stream(body).finalMessage()
      : await client.messages.create(body);
    if (message.stop_reason !== "tool_use") return textOf(message.content);
    const calls = message.content.filter((block) => block.type === "tool_use");
    history.push(
      { role: "assistant", content: message.content as Anthropic.ContentBlockParam[] },
      {
        role: "user",
        content: calls.map(({ id, name, input }) => ({
          type: "tool_result",
          tool_use_id: id,
          content: answerTo(task, name, input),
        })),
      },
    );
    container = message.container?.id;
  }
  throw new Error("The conversation has no end.");
};

/** The tool runner of the official package. */
export const toolRunner: Client = async (task) => {
  const run = (name: string) => (input: unknown) => answerTo(task, name, input);
  const runner = task.gateway.anthropic().beta.messages.toolRunner({
    model: task.model,
    max_tokens: 1000,
    stream: task.isStreamed,
    messages: [{ role: "user", content: QUESTION }],
    tools: TOOLS.map((tool) =>
      "input_schema" in tool ? { ...tool, run: run(tool.name), parse: (input: unknown) => input } : tool,
    ),
  } as never) as unknown as { readonly runUntilDone: () => Promise<Anthropic.Beta.BetaMessage> };
  return textOf((await runner.runUntilDone()).content);
};

/** The text after the last block of another kind. */
function textOf(content: readonly { readonly type: string; readonly text?: unknown }[]): string {
  return String(content.at(-1)?.text);
}
