import { MockLanguageModelV4, simulateReadableStream } from "ai/test";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model of the AI SDK that calls `run_program` once, and answers by the text of its result. */
export function aiSdkModel(input: unknown): MockLanguageModelV4 {
  const model: MockLanguageModelV4 = new MockLanguageModelV4({
    doStream: async ({ prompt }) => {
      const isFirst = model.doStreamCalls.length === 1;
      const message = prompt.at(-1);
      const part = message?.role === "tool" ? message.content[0] : undefined;
      const output = part?.type === "tool-result" ? part.output : undefined;
      const delta = output?.type === "text" || output?.type === "error-text" ? output.value : "";
      const turn = isFirst
        ? [{ type: "tool-call" as const, toolCallId: "1", toolName: "run_program", input: JSON.stringify(input) }]
        : [
            { type: "text-start" as const, id: "t" },
            { type: "text-delta" as const, id: "t", delta },
            { type: "text-end" as const, id: "t" },
          ];
      const unified = isFirst ? ("tool-calls" as const) : ("stop" as const);
      return {
        stream: simulateReadableStream({
          chunks: [
            { type: "stream-start", warnings: [] },
            ...turn,
            { type: "finish", usage, finishReason: { unified, raw: undefined } },
          ],
        }),
      };
    },
  });
  return model;
}
