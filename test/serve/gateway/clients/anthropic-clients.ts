import type Anthropic from "@anthropic-ai/sdk";
import { answered, callsIn, PROGRAMS } from "../gateways.ts";
import { answerTo, type Client, DEPOT, INPUT, MOST_REQUESTS, QUESTION, STOCK } from "./task.ts";

const TOOLS = [
  PROGRAMS,
  { name: "depot", description: DEPOT, input_schema: INPUT, allowed_callers: [PROGRAMS.type] },
  { name: "stock", description: STOCK, input_schema: INPUT },
];

/** The official package, with the messages kept by its user. */
export const messages: Client = async (task) => {
  const client = task.gateway.anthropic();
  let history: Anthropic.MessageParam[] = [{ role: "user", content: QUESTION }];
  let container: string | undefined;
  for (let requests = 0; requests < MOST_REQUESTS; requests += 1) {
    const body = {
      model: task.model,
      max_tokens: 1000,
      thinking: { type: "adaptive" as const },
      tools: TOOLS,
      messages: history,
      container,
    };
    const message = task.isStreamed
      ? await client.messages.stream(body).finalMessage()
      : await client.messages.create(body);
    if (message.stop_reason !== "tool_use") return textOf(message.content);
    const answers = callsIn(message.content).map(({ name, input }) => answerTo(task, name, input));
    history = answered(history, message, (place) => String(answers[place]));
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
    ...(task.isStreamed && { thread: false }),
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
