import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { nextCall } from "./next-call.ts";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

type Prompt = Parameters<MockLanguageModelV4["doGenerate"]>[0]["prompt"];

/** A model of the AI SDK that makes one call, goes on with programs that wait, and answers by the text of the last result. */
export function aiSdkModel(input: unknown, name = "run_program") {
  const results: unknown[] = [];
  let calls = 0;
  const turn = (prompt: Prompt) => {
    const message = prompt.at(-1);
    const part = message?.role === "tool" ? message.content.findLast(({ type }) => type === "tool-result") : undefined;
    const output = part?.type === "tool-result" ? part.output : undefined;
    if (output)
      results.push(
        output.type === "execution-denied" ? `denied: ${output.reason}` : (output as { value: unknown }).value,
      );
    const call = nextCall(results, name, input);
    const finishReason = { unified: call ? ("tool-calls" as const) : ("stop" as const), raw: undefined };
    const called = call && {
      type: "tool-call" as const,
      toolCallId: `call-${(calls += 1)}`,
      toolName: call.name,
      input: call.input,
    };
    return { finishReason, called, text: String(results.at(-1)) };
  };
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const { finishReason, called, text } = turn(prompt);
      return { usage, warnings: [], finishReason, content: [called ?? { type: "text" as const, text }] };
    },
    doStream: async ({ prompt }) => {
      const { finishReason, called, text: delta } = turn(prompt);
      const text = ["text-start", "text-delta", "text-end"].map((type) => ({ type, id: "t", delta }));
      const finish = { type: "finish", usage, finishReason };
      const chunks = [{ type: "stream-start", warnings: [] }, ...(called ? [called] : text), finish] as never[];
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
  return { model, results };
}
