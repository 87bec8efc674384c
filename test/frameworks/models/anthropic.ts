import Anthropic from "@anthropic-ai/sdk";

interface Asked {
  readonly tools: readonly { readonly description: string; readonly input_schema: unknown }[];
  readonly messages: readonly {
    readonly content: readonly { readonly content?: string; readonly is_error?: boolean }[];
  }[];
}

const USAGE = { input_tokens: 1, output_tokens: 1 };
const MESSAGE = { id: "m", type: "message", role: "assistant", model: "test", usage: USAGE };

/** A client whose model calls `run_program` once, and answers by the text of its result. */
export function anthropicClient(input: unknown): { readonly client: Anthropic; readonly asked: readonly Asked[] } {
  const asked: Asked[] = [];
  const reply = (stop: string, content: object) => Response.json({ ...MESSAGE, stop_reason: stop, content: [content] });
  const client = new Anthropic({
    apiKey: "none",
    fetch: async (_, init) => {
      const body = JSON.parse(init?.body as string) as Asked;
      asked.push(body);
      return asked.length === 1
        ? reply("tool_use", { type: "tool_use", id: "toolu_1", name: "run_program", input })
        : reply("end_turn", { type: "text", text: body.messages.at(-1)?.content[0]?.content });
    },
  });
  return { client, asked };
}
