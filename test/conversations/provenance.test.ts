import { expect, test } from "vitest";
import { z } from "zod";
import { fromAiSdk } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { instructionsFor, callBoundaries, programBoundaries } from "../../src/conversations/prompt/instructions.ts";
import { DEFAULT_LIMITS } from "../../src/executions/limits.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { changedClock } from "../support/clock.ts";
import { timeless } from "../support/timeless.ts";
import { resultsBefore, talk, type TalkOptions } from "./talk.ts";
import { runtimeWith, throws } from "../support/index.ts";

const direct = (given: object = {}) => makeTool({ name: "pay", allowedCallers: ["direct"], ...given });
const CALL = { calls: [{ id: "c1", tool: "pay" }] };

async function provenanceOf(options: TalkOptions, call: object = CALL) {
  const [result] = resultsBefore(await talk([call, { text: "Done." }], options), 1);
  return timeless(result?.provenance);
}

test.each<[string, TalkOptions["approve"], string | undefined]>([
  ["the name of who approved it", () => ({ allow: true, by: "ann" }), "ann"],
  ["the host, where its approver gives no name", () => true, "host"],
  ["no one, where it was denied", () => ({ allow: false, by: "ann" }), undefined],
])("a result has %s", async (_, approve, expected) => {
  const provenance = await provenanceOf({ tools: [direct({ approval: "always" })], ...(approve && { approve }) });
  expect(provenance?.approvedBy).toBe(expected);
});

test("a call that needs no approval, and a failure that was approved, say so", async () => {
  const approve = () => ({ allow: true, by: "ann" });
  expect(await provenanceOf({ tools: [direct()], approve })).not.toHaveProperty("approvedBy");
  const failing = direct({
    approval: "always",
    execute: throws("broken"),
  });
  expect(await provenanceOf({ tools: [failing], approve })).toMatchObject({ approvedBy: "ann" });
});

test("a decision that was remembered approves later calls in the same name", async () => {
  const approve = () => ({ allow: true, by: "ann", remember: "execution" }) as const;
  const script = [{ calls: [{ id: "c1", tool: "pay" }] }, { calls: [{ id: "c2", tool: "pay" }] }, { text: "Done." }];
  const talked = await talk(script, { tools: [direct({ approval: "always" })], approve });
  expect(resultsBefore(talked, 2)).toMatchObject([{ callId: "c2", provenance: { approvedBy: "ann" } }]);
});

test("a decision from elsewhere names who took it, in a conversation that another runtime takes up", async () => {
  const journal = createMemoryJournal();
  const tools = [direct({ approval: "always", effect: "write" })];
  const model = () => scriptedModel([CALL, { text: "Done." }]);
  await using first = await runtimeWith(tools, { journal, approve: () => "later" });
  const { execution } = await first.agent({ model: model(), task: "Pay." });
  await using second = await runtimeWith(tools, { journal });
  const { transcript } = await second.execution(execution).resume({
    model: model(),
    decisions: { c1: { allow: true, by: "bob" } },
  });
  expect(transcript.turns[0]?.results).toMatchObject([{ provenance: { approvedBy: "bob" } }]);
});

test("a result has its tool's source, unless no handler ran", async () => {
  const tools = fromAiSdk(
    {
      pay: {
        description: "Pays",
        inputSchema: z.object({ euros: z.number() }),
        execute: ({ euros }: { euros: number }) => euros,
      },
    },
    { allowedCallers: ["direct"], effect: "read" },
  );
  const call = (input: object) => ({ calls: [{ id: "c1", tool: "pay", input }] });
  expect(await provenanceOf({ tools }, call({ euros: 1 }))).toEqual({ tool: "pay", bytes: 1, source: "ai-sdk", at: 0 });
  expect(await provenanceOf({ tools }, call({}))).not.toHaveProperty("source");
});

test("nothing is told of the source of a tool that the model must not know of", async () => {
  const hidden = makeTool({ name: "pay", source: "bank", execute: () => 1 });
  const [result] = resultsBefore(await talk([CALL, { text: "No." }], { tools: [hidden], programs: "none" }), 1);
  expect(result?.text).toContain("no tool");
  expect(JSON.stringify(result)).not.toContain("bank");
});

test("every result of a transcript has the time of its record", async () => {
  let at = Date.now();
  // Each look at the clock is a millisecond later than the one before.
  changedClock({ now: () => (at += 1) });
  const script = [{ ...CALL, programs: ["return 1"] }, { calls: [{ id: "c9", tool: "none" }] }];
  const { records, transcript } = await talk(script, { tools: [direct()], loop: { maxTurns: 2, wrapUp: false } });
  const times = records.flatMap((record) => (record.type === "message" && record.from === "host" ? [record.at] : []));
  const results = transcript.turns.flatMap((turn) => turn.results);
  expect(results).toHaveLength(3);
  expect(new Set(results.map(({ provenance }) => provenance.at))).toEqual(new Set(times));
});

test.each([
  ["return 1", /^completed, \d+\.\d s, 0 calls, 1 bytes$/],
  ["await tools.pay({}); throw new Error('x')", /^failed, \d+\.\d s, 1 call, \d+ bytes$/],
])("the result of the program %s says how it went", async (source, expected) => {
  const tools = [makeTool({ name: "pay", allowedCallers: ["programmatic"] })];
  const provenance = await provenanceOf({ tools }, { programs: [source] });
  expect(provenance?.summary).toMatch(expected);
});

test("the result of a program says who approved the program", async () => {
  const tools = [makeTool({ name: "pay", allowedCallers: ["programmatic"] })];
  const options = { tools, approvePrograms: true, approve: () => ({ allow: true, by: "ann" }) };
  expect(await provenanceOf(options, { programs: ["return 1"] })).toMatchObject({ approvedBy: "ann" });
});

// ---- boundaries -------------------------------------------------------------------------------------------------

test("a model is told the limits in force, in one place, each with what it bounds", async () => {
  const tools = [
    direct({ timeoutMs: 1500 }),
    makeTool({ name: "look", allowedCallers: ["programmatic"], timeoutMs: 2000 }),
  ];
  const limits = { calls: 12, outputBytes: 2000, cpuMs: 500, wallMs: 3000, totalBytes: 1024 * 1024 };
  const { model } = await talk([{ text: "Done." }], { tools, limits });
  const opening = model.conversations[0]?.[0]?.opening;
  expect(opening?.runProgram?.description).toMatch(
    /Per run: 0\.5 s of computing, 3 s in all, 1 MiB of .*Per conversation: 12 calls, each up to 2 s.*1\.9 KiB/,
  );
  expect(opening?.instructions).toBe(instructionsFor("local"));
  const { model: alone } = await talk([{ text: "Done." }], { tools: tools.slice(0, 1), limits });
  expect(alone.conversations[0]?.[0]?.opening.instructions).toMatch(/12 calls, each up to 1\.5 s.*1\.9 KiB/);
});

test("a model is told that a program can wait by a timer, and it can", async () => {
  const wait = 'return await new Promise((done) => setTimeout(done, 1, "waited"));';
  const talked = await talk([{ programs: [wait] }, { text: "Done." }], { tools: [makeTool()] });
  expect(talked.model.conversations[0]?.[0]?.opening?.runProgram?.description).toContain("setTimeout");
  expect(resultsBefore(talked, 1)).toMatchObject([{ text: '"waited"' }]);
});

test("a model is told how large values are named before there are any, and a program loads them so", async () => {
  const script = [
    { calls: [{ id: "c1", tool: "pay" }] },
    { programs: ['return "y".repeat(3000);'] },
    { programs: ['return [(await load("result-1")).length, (await load("result-2")).length];'] },
    { text: "Done." },
  ];
  const tools = [direct({ execute: () => "x".repeat(2000) }), makeTool({ allowedCallers: ["programmatic"] })];
  const talked = await talk(script, { tools, limits: { outputBytes: 1000 } });
  expect(talked.model.conversations[0]?.[0]?.opening?.runProgram?.description).toContain("result-N, for load");
  expect(resultsBefore(talked, 3)).toMatchObject([{ text: "[2000,3000]" }]);
});

test("a model is told what approvals are only if a tool needs them, and a denial throws with the reason", async () => {
  const refund = "try { await tools.pay({}); } catch (error) { return error.message; }";
  for (const approval of ["always", "never"] as const) {
    const tools = [makeTool({ name: "pay", allowedCallers: ["programmatic"], approval })];
    const approve = () => ({ allow: false, note: "too much" });
    const talked = await talk([{ programs: [refund] }, { text: "Done." }], { tools, approve });
    const description = talked.model.conversations[0]?.[0]?.opening?.runProgram?.description;
    expect(description?.includes("a denial throws with the reason")).toBe(approval === "always");
    if (approval === "always") expect(resultsBefore(talked, 1)[0]?.text).toContain("too much");
  }
});

test("a model is told when to call a tool directly only if it can call one both ways", async () => {
  for (const callers of [["direct", "programmatic"], ["programmatic"]] as const) {
    const talked = await talk([{ text: "Done." }], {
      tools: [direct({ name: "a" }), makeTool({ allowedCallers: callers })],
    });
    const description = talked.model.conversations[0]?.[0]?.opening?.runProgram?.description;
    expect(description?.includes("call the tool directly")).toBe(callers.length === 2);
    expect(description).not.toContain("DIRECT");
  }
});

test("boundaries tell nothing of what there is not: direct tools, times of clients, values to load", () => {
  expect(callBoundaries(DEFAULT_LIMITS, [makeTool({ allowedCallers: ["programmatic"] })])).toBe("");
  expect(callBoundaries(DEFAULT_LIMITS, [direct({ execute: "client" })])).not.toContain("each");
  expect(programBoundaries(DEFAULT_LIMITS, { shares: false, tools: [] })).not.toContain("load");
  expect(programBoundaries({ ...DEFAULT_LIMITS, outputBytes: 64 }, { shares: false, tools: [] })).toContain(
    "over 64 bytes",
  );
});

test("what a redaction covers is taken out of the approver's name too", async () => {
  const findings = ({ text }: { readonly text: string }) => {
    const start = text.indexOf("hunter2");
    return start === -1 ? [] : [{ start, end: start + 7, what: "password" }];
  };
  const approve = () => ({ allow: true, by: "ann hunter2" });
  const runs: [TalkOptions["tools"], object, boolean][] = [
    [[direct({ approval: "always" })], CALL, false],
    [[makeTool({ name: "pay", allowedCallers: ["programmatic"] })], { programs: ["return 1"] }, true],
  ];
  for (const [tools, call, approvePrograms] of runs) {
    await using runtime = await runtimeWith(tools, { approve, approvePrograms, redact: findings });
    const { transcript } = await runtime.agent({ model: scriptedModel([call, { text: "Done." }]), task: "Pay." });
    const [result] = transcript.turns[0]?.results ?? [];
    expect(result?.isError).toBe(false);
    expect(result?.provenance.approvedBy).toMatch(/^ann .*/);
    expect(JSON.stringify(result)).not.toContain("hunter2");
  }
});
