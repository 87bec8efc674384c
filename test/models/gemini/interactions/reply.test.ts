import { expect, test } from "vitest";
import { InteractionStream } from "../../../../src/models/gemini/interactions/reply.ts";
import { UNSHOWN } from "../../converse.ts";

function streamed(step: object, pieces: readonly unknown[]): InteractionStream {
  const stream = new InteractionStream(UNSHOWN);
  stream.take({ event_type: "step.start", index: 0, step });
  for (const delta of pieces) stream.take({ event_type: "step.delta", index: 0, delta });
  stream.take({ event_type: "step.stop", index: 0 });
  stream.take({ event_type: "interaction.completed", interaction: { status: "completed" } });
  return stream;
}

test("a hundred thousand pieces of one step are put together in linear time", () => {
  const count = 100_000;
  const pieces = Array.from({ length: count }, (_, at) => [
    { type: "text", text: "x" },
    { type: "text_annotation_delta", annotations: [at] },
    { type: "thought_summary", content: at },
    { type: "arguments_delta", arguments: at === 0 ? "[" : " " },
    { type: "image", data: "" },
  ]);
  const [step] = streamed({ type: "model_output" }, pieces.flat()).reply?.steps ?? [];
  expect(step?.content).toHaveLength(2 * count);
  expect(step?.summary).toHaveLength(count);
});

test("a piece with the name of a prototype changes no prototype, and no piece changes a call", () => {
  const hostile = JSON.parse('{"type":"google_search_call","__proto__":{"polluted":true},"arguments":{}}') as object;
  const [step] = streamed({ type: "google_search_call", id: "h" }, [hostile]).reply?.steps ?? [];
  expect(Object.getPrototypeOf(step)).toBe(Object.prototype);
  expect(step).not.toHaveProperty("polluted");
  for (const type of ["function_call", "image", "x"])
    expect(() => streamed({ type: "function_call", id: "a", name: "f" }, [{ type, name: "pay", id: "b" }])).toThrow(
      SyntaxError,
    );
});
