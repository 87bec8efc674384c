import { beforeEach, expect, test } from "vitest";
import type { Elicitation, McpRequest } from "../../../src/executions/mcp-runs/request.ts";
import { textResult } from "../../../src/executions/mcp-runs/result.ts";
import type { RunWork } from "../../../src/executions/mcp-runs/run.ts";
import { type McpCall, McpRuns } from "../../../src/executions/mcp-runs/runs.ts";
import { digestOf, Seal } from "../../../src/executions/mcp-runs/seal.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});

const request = (more: Partial<McpRequest> = {}): McpRequest => ({
  signal: undefined,
  asking: { type: "none" },
  notify: undefined,
  ...more,
});

const callOf = (start: McpCall["start"], more: Partial<McpCall> = {}): McpCall => ({
  principal: "ann",
  digest: "digest",
  bytes: 10,
  who: "A program",
  start,
  ...more,
});

/** Asks for approval of one call, and gives the answer as its result. */
const asks = async ({ approve }: Pick<RunWork, "approve">, input: unknown = {}, callId = "1") => {
  const { signal } = new AbortController();
  const call = { callId, tool: "bank.pay", effect: "write", description: "Pays", input, signal };
  return textResult(JSON.stringify(await approve(call as never)));
};

const rounds = { type: "rounds", state: undefined, responses: {} } as const;

const yes = { action: "accept", content: { allow: true } };
const answered = (state: unknown, responses: Record<string, unknown>) =>
  request({ asking: { type: "rounds", state, responses } });
const stateOf = (result: unknown) => (result as { readonly requestState: string }).requestState;

test("a client is told of a run that makes no calls at least every ten seconds, in growing numbers", async () => {
  const told: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = callOf(() => promise.then(() => textResult("done")));
  const notify = async (progress: number) => void told.push(progress);
  const answered = new McpRuns().handle(call, request({ notify }));
  for (let seconds = 0; seconds < 60; seconds += 10) {
    const before = told.length;
    await clock.advance(10_000);
    expect(told.length).toBeGreaterThan(before);
  }
  resolve();
  expect(await answered).toEqual(textResult("done"));
  expect(told).toEqual(told.map((_, index) => index + 1));
});

test("a run whose client does not come back leaves its questions to others, where they can wait", async () => {
  const runs = new McpRuns({ canWait: true });
  const ended = Promise.withResolvers<unknown>();
  const start: McpCall["start"] = async (work) => {
    const result = await asks(work);
    ended.resolve(result);
    return result;
  };
  const first = await runs.handle(callOf(start, { id: "one" }), request({ asking: rounds }));
  expect(first).toMatchObject({ resultType: "input_required" });
  expect(runs.find("one", "ann")).toBeDefined();
  await clock.advance(10 * 60 * 1000);
  expect(await ended.promise).toEqual(textResult('"later"'));
  expect(runs.find("one", "ann")).toBeUndefined();
});

test("questions of one call id at once have an answer each", async () => {
  const runs = new McpRuns();
  const both: McpCall["start"] = async (work) => {
    const answers = await Promise.all([asks(work), asks(work)]);
    return textResult(JSON.stringify(answers.map(({ content }) => content[0])));
  };
  const first = await runs.handle(callOf(both), request({ asking: rounds }));
  const { inputRequests } = first as unknown as { inputRequests: object };
  const [one, other] = Object.keys(inputRequests);
  expect([one, other]).toEqual(["1", "1.2"]);
  const responses = { "1": { ...yes, content: { allow: false } }, "1.2": yes };
  const said = JSON.stringify(await runs.handle(callOf(both), answered(stateOf(first), responses)));
  expect(said.indexOf("false")).toBeGreaterThan(0);
  expect(said.indexOf("true")).toBeGreaterThan(said.indexOf("false"));
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
  const second = await runs.handle(call, request({ asking: push(yes) }));
  expect(JSON.stringify(second)).toContain(String.raw`\"allow\":true`);
  expect(asked).toHaveLength(2);
});

test.each([
  ["runs of a client are begun", {}, 700],
  ["requests of a client wait for one run", { id: "run" }, 2100],
  ["bytes of a client are held", { bytes: 30 * 1024 * 1024 }, 2],
])("no more %s than may be, and those of others are answered", async (_, more, count) => {
  const runs = new McpRuns();
  const hanging = callOf(() => new Promise(() => {}), more);
  for (let n = 0; n < count; n += 1) void runs.handle(hanging, request());
  expect(JSON.stringify(await runs.handle(hanging, request()))).toContain("hold 67108864 bytes");
  const other = callOf(async () => textResult("served"), { principal: "bob" });
  expect(await runs.handle(other, request())).toEqual(textResult("served"));
});

test("a run is its principal's, also if another one chooses the same id, and both give back what they count for", async () => {
  const runs = new McpRuns();
  const most = 63 * 1024 * 1024;
  const begun: PromiseWithResolvers<void>[] = [];
  const start = () => {
    const gate = Promise.withResolvers<void>();
    begun.push(gate);
    return gate.promise.then(() => textResult("done"));
  };
  const answers = ["ann", "bob"].map((principal) =>
    runs.handle(callOf(start, { id: "one", principal, bytes: most }), request()),
  );
  expect(["ann", "bob"].map((principal) => runs.find("one", principal)?.principal)).toEqual(["ann", "bob"]);
  for (const { resolve } of begun) resolve();
  await Promise.all(answers);
  for (const principal of ["ann", "bob"]) {
    const next = callOf(async () => textResult("next"), { principal, bytes: most });
    expect(await runs.handle(next, request())).toEqual(textResult("next"));
  }
});

test("a round answers what was asked in it or before, and nothing that has come up since", async () => {
  const runs = new McpRuns();
  const allowed: string[] = [];
  const call = callOf(async (work) => {
    for (const callId of ["1", "2", "3"]) {
      const { content } = await asks(work, {}, callId);
      allowed.push(`${callId} ${content[0]?.text.includes('"allow":true')}`);
    }
    return textResult("done");
  });
  const all = { "1": yes, "2": yes, "3": yes };
  const first = stateOf(await runs.handle(call, request({ asking: rounds })));
  const second = stateOf(await runs.handle(call, answered(first, all)));
  expect(allowed).toEqual(["1 true"]);
  // The first state again, with answers to a question that it did not ask.
  await runs.handle(call, answered(first, all));
  expect(allowed).toEqual(["1 true"]);
  const third = stateOf(await runs.handle(call, answered(second, { ...all, "2": { action: "decline" } })));
  expect(allowed).toEqual(["1 true", "2 false"]);
  expect(await runs.handle(call, answered(third, all))).toEqual(textResult("done"));
  expect(allowed).toEqual(["1 true", "2 false", "3 true"]);
});

test.each([
  ["by rounds", () => request({ asking: rounds })],
  ["by requests", () => request({ asking: { type: "push", ask: () => new Promise(() => {}) } })],
] as const)("a client that cannot ask does not answer what another one was asked %s", async (name, asking) => {
  const runs = new McpRuns({ canWait: true, patience: { ms: 50_000, answer: () => textResult("still runs") } });
  const call = callOf(asks, { id: "run", owns: false, afterwards: async () => textResult("over") });
  const first = runs.handle(call, asking());
  if (name === "by rounds") await first;
  else await expect.poll(() => runs.find("run", "ann")?.questions.size).toBe(1);
  const joined = runs.handle(call, request());
  await clock.advance(60_000);
  expect(await joined).toEqual(textResult("still runs"));
  expect(runs.find("run", "ann")?.questions.size).toBe(1);
});

test("a sealed call opens for its principal and its request, for an hour, and with its own key", () => {
  const seal = new Seal();
  const { digest } = digestOf("run_program", { code: "return 1" });
  const state = seal.seal({ run: "run-1", principal: "ann", digest, round: 3 });
  expect(seal.open(state, { principal: "ann", digest })).toEqual({ run: "run-1", round: 3 });
  expect(seal.open(state, { principal: "bob", digest })).toBeUndefined();
  expect(seal.open(state, { principal: "ann", ...digestOf("run_program", {}) })).toBeUndefined();
  expect(new Seal().open(state, { principal: "ann", digest })).toBeUndefined();
  for (const hostile of [undefined, null, 7, {}, "", "x", state.slice(1), "A".repeat(10_000)])
    expect(seal.open(hostile, { principal: "ann", digest })).toBeUndefined();
  const bytes = Buffer.from(state, "base64url");
  for (const at of bytes.keys()) {
    const changed = bytes.with(at, (bytes[at] ?? 0) ^ 1);
    expect(seal.open(Buffer.from(changed).toString("base64url"), { principal: "ann", digest })).toBeUndefined();
  }
  expect(seal.seal({ run: "run-1", principal: "ann", digest, round: 3 })).not.toBe(state);
  clock.pass(60 * 60 * 1000);
  expect(seal.open(state, { principal: "ann", digest })).toBeUndefined();
});

test.each([
  [true, "later"],
  [false, { allow: false, note: expect.stringContaining("too long to be shown whole") as string }],
])("a client is not asked about an input that it cannot show whole (can wait: %s)", async (canWait, answer) => {
  const input = { rows: Array.from({ length: 2000 }, (_, n) => n), to: "Eve" };
  const call = callOf((work) => asks(work, input));
  const ask = (): Promise<unknown> => Promise.reject(new Error("It is asked."));
  for (const asking of [rounds, { type: "push", ask } as const]) {
    const { content } = await new McpRuns({ canWait }).handle(call, request({ asking }));
    expect(content).toEqual([{ type: "text", text: expect.any(String) as string }]);
    expect(JSON.parse((content as readonly { text: string }[])[0]?.text ?? "")).toEqual(answer);
  }
});
