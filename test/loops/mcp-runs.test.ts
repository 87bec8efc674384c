import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Elicitation, McpRequest } from "../../src/loops/mcp-request.ts";
import { textResult } from "../../src/loops/mcp-result.ts";
import type { RunWork } from "../../src/loops/mcp-run.ts";
import { type McpCall, McpRuns } from "../../src/loops/mcp-runs.ts";
import { digestOf, Seal } from "../../src/loops/mcp-seal.ts";

beforeEach(
  () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] }),
);
afterEach(() => void vi.useRealTimers());

const request = (more: Partial<McpRequest> = {}): McpRequest => ({
  signal: undefined,
  asking: { type: "none" },
  notify: undefined,
  ...more,
});

const callOf = (start: McpCall["start"], more: Partial<McpCall> = {}): McpCall => ({
  principal: "ann",
  digest: "digest",
  who: "A program",
  start,
  ...more,
});

/** Asks for approval of one call, and gives the answer as its result. */
const asks = async ({ approve }: Pick<RunWork, "approve">) => {
  const { signal } = new AbortController();
  const answer = await approve({ callId: "1", tool: "bank.pay", input: {}, signal } as never);
  return textResult(JSON.stringify(answer));
};

const rounds = { type: "rounds", state: undefined, responses: {} } as const;

test("a client is told of a run that makes no calls at least every ten seconds, in growing numbers", async () => {
  const told: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const answered = new McpRuns().handle(
    callOf(async () => {
      await promise;
      return textResult("done");
    }),
    request({ notify: async (progress) => void told.push(progress) }),
  );
  for (let seconds = 0; seconds < 60; seconds += 10) {
    const before = told.length;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(told.length).toBeGreaterThan(before);
  }
  resolve();
  expect(await answered).toEqual(textResult("done"));
  expect(told).toEqual(told.map((_, index) => index + 1));
});

test("a run whose client does not come back leaves its questions to others, where they can wait", async () => {
  const runs = new McpRuns({ canWait: true });
  const ended = Promise.withResolvers<unknown>();
  const first = await runs.handle(
    callOf(async (work) => {
      const result = await asks(work);
      ended.resolve(result);
      return result;
    }),
    request({ asking: rounds }),
  );
  expect(first).toMatchObject({ resultType: "input_required" });
  await vi.advanceTimersByTimeAsync(10 * 60 * 1000);
  expect(await ended.promise).toEqual(textResult('"later"'));
  expect(runs.of("ann")).toEqual([]);
});

test("a client that cannot ask leaves the question for later, or it is denied", async () => {
  expect(await new McpRuns({ canWait: true }).handle(callOf(asks), request())).toEqual(textResult('"later"'));
  const denied = await new McpRuns().handle(callOf(asks), request());
  expect(JSON.stringify(denied)).toContain("The client cannot ask its user.");
});

test("a question that was asked by a request that is over is asked again by the next one", async () => {
  const asked: Elicitation[] = [];
  const push = (answer: unknown) => ({
    type: "push" as const,
    ask: (elicitation: Elicitation, signal: AbortSignal) => {
      asked.push(elicitation);
      return new Promise<unknown>((resolve, reject) => {
        if (answer !== undefined) resolve(answer);
        signal.addEventListener("abort", () => reject(new Error("over")));
      });
    },
  });
  const runs = new McpRuns();
  const left = new AbortController();
  const call = callOf(asks, { id: "run", owns: false });
  const first = runs.handle(call, request({ asking: push(undefined), signal: left.signal }));
  await expect.poll(() => asked.length).toBe(1);
  left.abort(new Error("left"));
  await expect(first).rejects.toThrow("left");
  const second = await runs.handle(call, request({ asking: push({ action: "accept", content: { allow: true } }) }));
  expect(JSON.stringify(second)).toContain(String.raw`\"allow\":true`);
  expect(asked).toHaveLength(2);
});

test("no more runs of a client are begun than may be, and those of others are", async () => {
  const runs = new McpRuns();
  const hanging = callOf(() => new Promise(() => {}));
  for (let n = 0; n < 1000; n += 1) void runs.handle(hanging, request());
  expect(JSON.stringify(await runs.handle(hanging, request()))).toContain(
    "1000 calls of this client run or wait already",
  );
  const other = callOf(async () => textResult("served"), { principal: "bob" });
  expect(await runs.handle(other, request())).toEqual(textResult("served"));
});

test("a sealed call opens for its principal and its request, for an hour, and with its own key", () => {
  const seal = new Seal();
  const digest = digestOf("run_program", { code: "return 1" });
  const state = seal.seal({ run: "run-1", principal: "ann", digest });
  expect(seal.open(state, { principal: "ann", digest })).toBe("run-1");
  expect(seal.open(state, { principal: "bob", digest })).toBeUndefined();
  expect(seal.open(state, { principal: "ann", digest: digestOf("run_program", {}) })).toBeUndefined();
  expect(new Seal().open(state, { principal: "ann", digest })).toBeUndefined();
  for (const hostile of [undefined, null, 7, {}, "", "x", state.slice(1), "A".repeat(10_000)])
    expect(seal.open(hostile, { principal: "ann", digest })).toBeUndefined();
  vi.advanceTimersByTime(60 * 60 * 1000);
  expect(seal.open(state, { principal: "ann", digest })).toBeUndefined();
});
