import { expect, test } from "vitest";
import { z } from "zod";
import { PortcullisError } from "../../../src/errors.ts";
import { OpenCall } from "../../../src/gate/open-call.ts";
import { Returned, runHandler, toText } from "../../../src/gate/run/run-handler.ts";
import { defineTool } from "../../../src/tools/define-tool.ts";
import type { Schema } from "../../../src/tools/schema.ts";
import type { CallContext, Tool } from "../../../src/tools/tool.ts";
import { HeldBytes } from "../../../src/values/held-bytes.ts";
import { manualClock } from "../../support/clock.ts";
import { contextOf, makeTool } from "../open-session.ts";

const share = new HeldBytes().share("test", Number.MAX_SAFE_INTEGER);
const request = { callId: "7", tool: "t", caller: "programmatic", inputText: "{}" } as const;

function openCall(tool: Tool): OpenCall {
  return new OpenCall(tool, request);
}

/** Runs a tool's handler once. */
function run(tool: Tool, resultBytes = 1000) {
  return answerOf(openCall(tool), resultBytes);
}

async function answerOf(call: OpenCall, resultBytes = 1000) {
  const ran = await runHandler(call, {}, contextOf(call));
  return ran instanceof Returned ? toText(call, ran.value, { resultBytes, resultValues: 4_000_000 }, share) : ran;
}

const failure = (code: string, message?: string) => ({
  ok: false,
  code,
  tool: "t",
  message: message ?? (expect.any(String) as string),
});
const UNKNOWN_CAUSE = failure("handler_failed");
const UNDECLARED = failure("output_invalid");

test.each<[string, () => unknown, string, string]>([
  ["a value", () => ({ a: ["ü"] }), '{"a":["ü"]}', "object"],
  ["a promise", async () => [1, 2], "[1,2]", "array of 2"],
  ["nothing", () => undefined, "null", "null"],
  [
    "something that JSON does not know",
    () => ({ at: new Date(0), gone: undefined }),
    '{"at":"1970-01-01T00:00:00.000Z"}',
    "object",
  ],
])("a handler that returns %s is answered with its JSON text", async (_, handler, text, shape) => {
  expect(await run(makeTool({ handler }))).toEqual({
    answer: { ok: true, text, bytes: Buffer.byteLength(text) },
    shape,
  });
});

test("a handler gets the given input and context, and the call counts as started", async () => {
  const got: unknown[] = [];
  const call = openCall(makeTool({ handler: (...given) => void got.push(...given, call.handling.started) }));
  const context: CallContext = contextOf(call);
  const input = { a: 1 };
  expect(call.handling.started).toBe(false);
  await runHandler(call, input, context);
  expect(got).toEqual([input, context, true]);
  expect(got[0]).toBe(input);
});

test.each<[string, (error: unknown) => unknown]>([
  [
    "throws",
    (error) => {
      throw error;
    },
  ],
  [
    "rejects with",
    async (error) => {
      throw error;
    },
  ],
])("what a handler %s stays on the host, whatever it is", async (_, fail) => {
  for (const error of [new Error("the password"), "the password", { message: "the password" }, null]) {
    expect(await run(makeTool({ handler: () => fail(error) }))).toEqual({ answer: UNKNOWN_CAUSE, error });
  }
});

test("a handler's message reaches the caller only in a tool_failed error", async () => {
  const meant = new PortcullisError("tool_failed", "There is no article K-9.");
  expect(await run(makeTool({ handler: () => Promise.reject(meant) }))).toEqual({
    answer: failure("handler_failed", "There is no article K-9."),
    error: meant,
  });
  const other = new PortcullisError("option_invalid", "a secret of the host");
  expect((await run(makeTool({ handler: () => Promise.reject(other) }))).answer).toEqual(UNKNOWN_CAUSE);
});

test("a late handler's signal is aborted, and its result is not awaited", async () => {
  const call = openCall(makeTool({ timeoutMs: 1, handler: () => new Promise(() => {}) }));
  expect(await answerOf(call)).toEqual({
    answer: failure("handler_timed_out"),
  });
  expect(call.signal.reason).toMatchObject({ message: expect.stringContaining("1 ms") as string });
});

test.each(["idempotent", "write"] as const)(
  "the answer for a late handler with the effect %s says that it may have taken effect",
  async (effect) => {
    const { answer } = await run(makeTool({ effect, timeoutMs: 1, handler: () => new Promise(() => {}) }));
    expect(answer).toMatchObject({
      code: "handler_timed_out",
      message: expect.stringContaining("may have taken effect") as string,
    });
  },
);

test("a handler's timeout stops when it returns", async () => {
  const clock = manualClock();
  for (const handler of [() => 1, () => Promise.reject(new Error("no"))]) {
    const call = openCall(makeTool({ timeoutMs: 10, handler }));
    await answerOf(call);
    clock.pass(100);
    expect(call.signal.aborted).toBe(false);
  }
});

// ---- what it returns ---------------------------------------------------------------------------------------------

/** A tool whose result is checked with this. */
function checked(validate: Schema["~standard"]["validate"], handler: () => unknown): Tool {
  const output: Schema = { "~standard": { ...z.unknown()["~standard"], validate } };
  return defineTool({
    name: "t",
    description: "Does it",
    input: z.object({}),
    output,
    allowedCallers: ["programmatic"],
    effect: "read",
    handler,
  });
}

test("the result is what the output schema returns, also if the schema is asynchronous", async () => {
  for (const made of [{ value: { shown: 1 } }, Promise.resolve({ value: { shown: 1 } })])
    expect(
      await run(
        checked(
          () => made,
          () => ({ hidden: 2 }),
        ),
      ),
    ).toEqual({
      answer: { ok: true, text: '{"shown":1}', bytes: 11 },
      shape: "object",
    });
});

test("a result that does not match its schema fails the call, and the operator gets the reason", async () => {
  const issues = [{ message: "must be text", path: ["a", 0] }];
  expect(
    await run(
      checked(
        () => ({ issues }),
        () => ({ a: [1] }),
      ),
    ),
  ).toEqual({
    answer: UNDECLARED,
    error: expect.objectContaining({ message: expect.stringContaining("a[0]: must be text, got 1") }),
  });
});

test("an output schema that throws fails the call", async () => {
  const error = new Error("a fault of the schema");
  const throwing = () => {
    throw error;
  };
  for (const validate of [throwing, () => Promise.reject(error)])
    expect(await run(checked(validate, () => 1))).toEqual({ answer: UNDECLARED, error });
});

test("a result without a JSON text is reported as a fault of the handler", async () => {
  const circular: unknown[] = [];
  circular.push(circular);
  for (const value of [1n, circular, { a: { b: 1n } }])
    expect(await run(makeTool({ handler: () => value }))).toEqual({
      answer: UNKNOWN_CAUSE,
      error: expect.any(TypeError),
    });
});

test("a result of exactly resultBytes is accepted, and one byte more fails the call", async () => {
  const tool = makeTool({ handler: () => [[1], [2], [3]] });
  expect((await run(tool, 13)).answer).toEqual({ ok: true, text: "[[1],[2],[3]]", bytes: 13 });
  expect((await run(tool, 12)).answer).toEqual(failure("result_too_large"));
});

test("a result far over its limit fails before it is checked against its schema", async () => {
  let walks = 0;
  const validate: Schema["~standard"]["validate"] = (value) => {
    walks += 1;
    return { value };
  };
  const rows = Array.from({ length: 100_000 }, (_, index) => ({ index }));
  expect(
    (
      await run(
        checked(validate, () => rows),
        10_000,
      )
    ).answer,
  ).toMatchObject({ code: "result_too_large" });
  expect(walks).toBe(0);
  expect(
    (
      await run(
        checked(validate, () => rows),
        10_000_000,
      )
    ).answer,
  ).toMatchObject({ ok: true });
  expect(walks).toBe(1);
});

test("the size limit applies to the result that the schema returns", async () => {
  const tool = checked(
    () => ({ value: "x".repeat(1000) }),
    () => 1,
  );
  expect((await run(tool, 1001)).answer).toMatchObject({ code: "result_too_large" });
  expect((await run(tool, 1002)).answer).toMatchObject({ ok: true, bytes: 1002 });
});
