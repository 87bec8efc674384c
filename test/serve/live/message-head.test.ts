import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type MessageHead, messageHead } from "../../../src/serve/live/message-head.ts";
import { anyCharacter } from "../../support/any-character.ts";

function read(
  from: "model" | "host" | "user",
  message: string,
): { readonly head: MessageHead; readonly pauses: number } {
  const work = messageHead({ from, message });
  for (let pauses = 0; ; pauses += 1) {
    const { done, value } = work.next();
    if (done) return { head: value, pauses };
  }
}

const EMPTY = { text: undefined, usage: undefined, calls: [], answered: [] };

test("a turn has its text, its usage and its calls, and an answer the ids of its calls, however they are spaced", () => {
  const text = fc.string({ unit: anyCharacter });
  const call = fc.record({ id: text, inputText: text, tool: fc.option(text, { nil: undefined }) });
  const turn = fc.record({ calls: fc.array(call), text, usage: fc.dictionary(fc.string(), fc.nat()) });
  const results = fc.array(fc.record({ text, callId: text, parts: fc.jsonValue() }));
  fc.assert(
    fc.property(turn, results, fc.constantFrom(undefined, 1, "\t"), (said, all, space) => {
      const calls = said.calls.map(({ id, tool = "run_program" }) => ({ id, tool }));
      const { head } = read("model", JSON.stringify(said, undefined, space));
      expect(JSON.parse(JSON.stringify(head))).toEqual({ ...said, calls, answered: [] });
      const answered = all.map(({ callId }) => callId);
      expect(read("host", JSON.stringify(all, undefined, space)).head).toEqual({ ...EMPTY, answered });
    }),
  );
});

test("what a user said has the texts of its messages and of their parts, and nothing of what the host told the model", () => {
  const text = fc.string({ unit: anyCharacter, minLength: 1 });
  const image = fc.record({ type: fc.constant("image"), mediaType: text, data: text });
  const message = fc.oneof(text, fc.array(fc.oneof(image, fc.record({ type: fc.constant("text"), text }))));
  const said = fc.record({ by: fc.constantFrom("user", "host"), message });
  const textsOf = (one: string | ({ type: "text"; text: string } | { type: "image" })[]) =>
    typeof one === "string" ? [one] : one.flatMap((part) => ("text" in part ? part.text : []));
  fc.assert(
    fc.property(fc.array(said), (all) => {
      const own = all.filter(({ by }) => by === "user");
      const texts = own.flatMap((one) => textsOf(one.message));
      const expected = own.length > 0 ? texts.join("\n") : undefined;
      expect(read("user", JSON.stringify(all)).head).toEqual({ ...EMPTY, text: expected });
    }),
  );
});

test("no more than 1,000 calls are read, and nothing of a message that is none", () => {
  const calls = Array.from({ length: 1500 }, (_, id) => ({ id: `${id}` }));
  expect(read("model", JSON.stringify({ calls })).head.calls).toHaveLength(1000);
  for (const message of ["", "1", '"{}"', '{"text":1,"calls":{}}', "[", '{"a":1'])
    for (const from of ["model", "host", "user"] as const)
      expect(read(from, message).head).toEqual({ ...EMPTY, text: from === "model" ? "" : undefined });
  expect(read("model", '{"calls":[1,{"id":2},[]]}').head.calls).toEqual(
    Array.from({ length: 3 }, () => ({ id: "", tool: "run_program" })),
  );
});

test("the thread is given to others while large inputs and results are passed over", () => {
  const large = '"a",'.repeat(250_000);
  const call = { type: "tool_call", tool: "a.b", inputText: large, id: "1" };
  expect(read("model", JSON.stringify({ calls: [call], text: "so" })).pauses).toBeGreaterThan(12);
  expect(read("host", JSON.stringify([{ text: large, callId: "1" }])).pauses).toBeGreaterThan(12);
});
