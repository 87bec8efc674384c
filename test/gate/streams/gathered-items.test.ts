import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../src/tools/define-tool.ts";
import { openSession } from "../open-session.ts";

const values = defineTool({
  name: "t",
  description: "Gives lists of four numbers",
  input: z.looseObject({}),
  allowedCallers: ["programmatic"],
  effect: "read",
  stream: true,
  handler: ({ count }) => Array.from({ length: Number(count) }, () => [1, 2, 3, 4]),
});

test.each([
  [0, "[]"],
  [1, "[[1,2,3,4]]"],
  [3, "[[1,2,3,4],[1,2,3,4],[1,2,3,4]]"],
])("%i items become one array, whose bytes are counted", async (count, text) => {
  const { call, session } = openSession({ tools: [values] });
  expect(await call({ count })).toEqual({ ok: true, text, bytes: text.length });
  expect(session.share.held).toBe(text.length);
});

test("the values of all items together are bounded like those of one result", async () => {
  const { call } = openSession({ tools: [values], limits: { resultValues: 20 } });
  expect(await call({ count: 3 })).toMatchObject({ ok: true });
  expect(await call({ count: 2000 })).toMatchObject({ ok: false, code: "result_too_large" });
});
