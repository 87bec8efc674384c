import { expect, test } from "vitest";
import { z } from "zod";
import { OpenCall } from "../../../src/gate/open-call.ts";
import { itemText } from "../../../src/gate/streams/item-text.ts";
import { content } from "../../../src/index.ts";
import type { Schema } from "../../../src/tools/schema.ts";
import { HeldBytes } from "../../../src/values/held-bytes.ts";
import { makeTool } from "../open-session.ts";

const LIMITS = { resultBytes: 1000, resultValues: 100 };

async function read(value: unknown, output?: Schema) {
  const request = { callId: "1", tool: "t", caller: "programmatic", inputText: "{}" } as const;
  const tool = makeTool<z.ZodObject, Schema | undefined>({ stream: true, output } as never);
  const call = new OpenCall(tool, request);
  const share = new HeldBytes().share("acme", 10_000_000);
  const item = await itemText({ call, limits: LIMITS, share }, 7, value);
  expect(share.held).toBe(0);
  return item;
}

test.each([["a value", { ä: [1] }, '{"ä":[1]}', 10]])(
  "%s becomes text, and nothing is held for it yet",
  async (_what, value, text, bytes) => {
    expect(await read(value)).toMatchObject({ text, bytes });
  },
);

test("an item is what its schema makes of it", async () => {
  const output = z.object({ n: z.number() });
  expect(await read({ n: 4, more: 1 }, output)).toMatchObject({ text: '{"n":4}' });
});

const getter = {
  // oxlint-disable-next-line unicorn/no-thenable -- a handler may yield one
  get then(): never {
    throw new Error("no");
  },
};

test.each([
  ["a value of another form", { n: "4" }, "output_invalid"],
  ["a promise", Promise.resolve(1), "handler_failed"],
  ["content()", content({ value: 1 }), "handler_failed"],
  ["a getter that throws", getter, "handler_failed"],
  ["a bigint", { n: 4n }, "output_invalid"],
  ["an item of too many bytes", "x".repeat(2000), "output_invalid"],
  ["a large item of too many bytes", "x".repeat(200_000), "result_too_large"],
])("%s ends the stream with a failure, and is no error of the gate", async (_what, value, code) => {
  expect(await read(value, z.object({ n: z.number() }))).toMatchObject({ answer: { ok: false, code } });
});
