import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { heldWithin, PortcullisError } from "../../src/base/index.ts";
import { type Answer, FAILURE_CODES, REFUSAL_CODES } from "../../src/gate/answer.ts";
import { FAILED, never, REFUSED, send, throwing, type Way } from "./ways.ts";

function codeOf(answer: Answer | undefined): string {
  if (!answer) return "dropped";
  return answer.ok ? "ok" : answer.code;
}

test.each(REFUSED)("a call is refused with %s, and no handler runs (way %#)", async (code, way) => {
  const { answer, runs, records } = await send(way);
  const tool = way.request?.tool ?? way.tool?.name ?? "t";
  expect(answer).toMatchObject({ ok: false, code, tool });
  expect(runs).toBe(0);
  // A call that needs approval is held first, and its denial is journalled.
  const before: Readonly<Record<string, readonly string[]>> = {
    approval_denied: ["call", "decision"],
    approval_unavailable: ["call"],
    approval_expired: ["call"],
  };
  expect(records.slice(0, -1).map(({ type }) => type)).toEqual(before[code] ?? []);
  expect(records.slice(-1)).toEqual([
    {
      type: "call",
      call: "1",
      tool,
      caller: way.request?.caller ?? "programmatic",
      decision: "refused",
      code,
      ...(code === "policy_denied" ? { policy: "Not today.", inputDigest: expect.any(String) as string } : {}),
      at: expect.any(Number),
    },
  ]);
});

test.each(FAILED)("a call whose handler ran fails with %s (way %#)", async (code, way) => {
  const { answer, runs, records } = await send(way);
  expect(answer).toMatchObject({ ok: false, code, tool: "t" });
  expect(JSON.stringify(answer)).not.toContain("secret");
  expect(runs).toBe(1);
  expect(records).toMatchObject([
    { decision: "allowed" },
    { type: "answered", call: "1", ok: false, code, bytes: 0, ms: expect.any(Number) as number },
  ]);
});

test("a call that passes every check is answered with the result's JSON text", async () => {
  const { answer, runs, records } = await send({ tool: { execute: () => ({ ü: [1, null] }) } });
  expect(answer).toEqual({ ok: true, text: '{"ü":[1,null]}', bytes: 15 });
  expect(runs).toBe(1);
  expect(records).toMatchObject([
    { call: "1", tool: "t", caller: "programmatic", decision: "allowed" },
    { type: "answered", call: "1", ok: true, bytes: 15, ms: expect.any(Number) as number },
  ]);
});

// ---- one step after the other ----------------------------------------------------------------------------------

/** The steps in the order of the drawing, and what answers at each. */
const STEPS = [
  ["unknown", "tool_unknown"],
  ["caller", "caller_not_allowed"],
  ["closed", "dropped"],
  ["budget", "budget_spent"],
  ["memory", "budget_spent"],
  ["input", "input_invalid"],
  ["policy", "policy_denied"],
  ["no policy", "policy_unavailable"],
  ["approval", "approval_denied"],
  ["no approval", "approval_unavailable"],
  ["expired", "approval_expired"],
  ["throws", "handler_failed"],
  ["gone", "source_unavailable"],
  ["cut", "result_too_large"],
  ["late", "handler_timed_out"],
  ["output", "output_invalid"],
  ["size", "result_too_large"],
  ["total", "result_over_budget"],
] as const;
type Step = (typeof STEPS)[number][0];
const FIRST_STEP_WITH_HANDLER = STEPS.findIndex(([step]) => step === "throws");

function fails(): never {
  throw new Error("db down");
}

/** A call that each of these steps would turn away. */
function violating(wrong: ReadonlySet<Step>): Way {
  const inputText = wrong.has("input") ? "[1]" : "{}";
  const oversize = "é".repeat(60);
  const value = wrong.has("output") ? [wrong.has("size") ? oversize : 1] : wrong.has("size") ? oversize : "ok";
  return {
    callers: wrong.has("unknown") ? ["programmatic"] : ["direct", "programmatic"],
    closed: wrong.has("closed"),
    policies: [() => (wrong.has("policy") ? { deny: "no" } : wrong.has("no policy") ? fails() : "allow")],
    approve: () =>
      wrong.has("approval")
        ? false
        : wrong.has("no approval")
          ? fails()
          : !wrong.has("expired") || new Promise<never>(() => {}),
    ...(wrong.has("memory") ? { held: heldWithin(50) } : {}),
    limits: {
      resultBytes: wrong.has("size") ? 100 : 1000,
      ...(wrong.has("expired") ? { waitMs: 500 } : {}),
      ...(wrong.has("budget") ? { calls: 0 } : {}),
      ...(wrong.has("total") ? { totalBytes: inputText.length + 1 } : {}),
    },
    request: { inputText },
    tool: {
      allowedCallers: wrong.has("unknown") || wrong.has("caller") ? ["direct"] : ["programmatic"],
      approval: "always",
      outputSchema: z.string(),
      timeoutMs: wrong.has("late") ? 1 : 60_000,
      execute: () => {
        if (wrong.has("throws")) throw new Error("failed");
        if (wrong.has("gone")) throw new PortcullisError("source_unavailable", "It has gone.");
        if (wrong.has("cut")) throw new PortcullisError("result_too_large", "It has more bytes.");
        return wrong.has("late") ? never() : value;
      },
    },
  };
}

const PAIRS = STEPS.flatMap(([earlier, code], index) =>
  STEPS.slice(index + 1).map(([later]) => [earlier, later, code] as const),
);

test.each(PAIRS)("of the steps `%s` and `%s`, both wrong, the first answers: %s", async (earlier, later, code) => {
  const { answer, runs } = await send(violating(new Set([earlier, later])));
  expect(codeOf(answer)).toBe(code);
  expect(runs).toBe(STEPS.findIndex(([step]) => step === earlier) < FIRST_STEP_WITH_HANDLER ? 0 : 1);
});

test.each(STEPS)("where everything from the step `%s` on is wrong, it answers: %s", async (step, code) => {
  const from = STEPS.findIndex(([name]) => name === step);
  expect(codeOf((await send(violating(new Set(STEPS.slice(from).map(([name]) => name))))).answer)).toBe(code);
});

test("a large result over its limit fails before it is checked against its schema", async () => {
  const value = { toLong: "x".repeat(200_000) };
  const { answer } = await send({
    limits: { resultBytes: 1000 },
    tool: { outputSchema: throwing, execute: () => value },
  });
  expect(codeOf(answer)).toBe("result_too_large");
});

// ---- the drawing -----------------------------------------------------------------------------------------------

const map = readFileSync(new URL("../../src/gate/README.md", import.meta.url), "utf8");
const drawing = /## The way of one call[^]*?```\n([^]*?)```/.exec(map)?.[1] ?? "";
const drawn = [...drawing.matchAll(/(?<word>refuse|fail) (?<code>[a-z_]+)(?:, or (?<other>[a-z_]+))?/g)].flatMap(
  ({ groups: { word, code, other } = {} }) => [code, other].flatMap((one) => (one === undefined ? [] : [[word, one]])),
);
const drawnAs = (word: string) => new Set(drawn.flatMap(([as, code]) => (as === word ? [code] : [])));

/** Codes of calls that another driver has left open, and of clients' calls. The drawing has those of new calls with a handler. */
const CONTINUED: ReadonlySet<string> = new Set(["outcome_unknown", "result_expired", "stream_changed"]);

test("the drawing in src/gate/README.md has exactly the codes of new calls, and this file reaches each", () => {
  expect(drawnAs("refuse")).toEqual(new Set<string>(REFUSAL_CODES));
  expect(drawnAs("fail")).toEqual(new Set<string>(FAILURE_CODES.filter((code) => !CONTINUED.has(code))));
  expect(new Set(REFUSED.map(([code]) => code))).toEqual(drawnAs("refuse"));
  expect(new Set(FAILED.map(([code]) => code))).toEqual(drawnAs("fail"));
});

test("the drawing has the steps in the order in which they answer", () => {
  expect(drawn.map(([, code]) => code)).toEqual(STEPS.flatMap(([, code]) => (code === "dropped" ? [] : [code])));
  expect(drawing.indexOf("drop, journal it")).toBeGreaterThan(drawing.indexOf("caller_not_allowed"));
  expect(drawing.indexOf("drop, journal it")).toBeLessThan(drawing.indexOf("budget_spent"));
});
