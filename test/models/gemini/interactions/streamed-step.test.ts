import { expect, test } from "vitest";
import { StreamedStep } from "../../../../src/models/gemini/interactions/streamed-step.ts";

test("a hundred thousand pieces of one step are put together in linear time", () => {
  const step = new StreamedStep({ type: "model_output" });
  const count = 100_000;
  for (let at = 0; at < count; at += 1) {
    step.addText("x");
    step.addAnnotations([at]);
    step.addSummary(at);
    step.addInput(at === 0 ? "[" : " ");
    step.addOther({ type: "image", data: "" });
  }
  const { content, summary } = step.whole.step;
  expect([(content as object[]).length, (summary as number[]).length]).toEqual([2 * count, count]);
});

test("a piece with the name of a prototype changes no prototype, and no piece changes a call", () => {
  const search = new StreamedStep({ type: "google_search_call", id: "h" });
  search.addOther(JSON.parse('{"type":"google_search_call","__proto__":{"polluted":true},"arguments":{}}') as {});
  expect(Object.getPrototypeOf(search.whole.step)).toBe(Object.prototype);
  expect(search.whole.step).not.toHaveProperty("polluted");
  const call = new StreamedStep({ type: "function_call", id: "a", name: "f" });
  for (const type of ["function_call", "image", "x"])
    expect(() => call.addOther({ type, name: "pay", id: "b" })).toThrow(SyntaxError);
});
