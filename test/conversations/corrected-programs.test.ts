import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Approve, createRuntime } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel, type ScriptedTurn } from "../../src/runtime/testing.ts";
import { makeTool, runtimeWith } from "../support/index.ts";

const sandbox = createMemorySandbox();
const FAILS = "throw new Error('the last line is wrong');";
const DONE = { text: "Done." };

/** A shop whose handlers note what they are asked. `pay` may be called by a model, too. */
function shop(approval: "never" | "always" = "never") {
  const asked: string[] = [];
  const inputSchema = z.object({ n: z.number() });
  const [stock, pay] = ["stock", "pay"].map((name) => ({
    name,
    inputSchema,
    execute: ({ n }: { readonly n: number }) => asked.push(`${name} ${n}`),
  }));
  const tools = [
    makeTool(stock),
    makeTool({ ...pay, effect: "write", approval, allowedCallers: ["direct", "programmatic"] }),
  ];
  return { tools, asked };
}

interface Given {
  readonly journal?: Journal;
  readonly approve?: Approve;
  readonly reuseResults?: "after-failure" | "never";
}

async function talk(script: readonly ScriptedTurn[], { tools }: ReturnType<typeof shop>, given: Given = {}) {
  const { reuseResults, ...options } = given;
  const runtime = await runtimeWith(tools, { logger: { error: () => {} }, ...options });
  return runtime.agent({
    model: scriptedModel(script),
    task: "Pay",
    id: "talk",
    ...(reuseResults && { loop: { reuseResults } }),
  });
}

const program = (...lines: readonly string[]): ScriptedTurn => ({ programs: [lines.join("\n")] });
const STOCK = "const left = await tools.stock({ n: 1 });";
const PAY = "await tools.pay({ n: 2 });";

test("the program after one that failed goes on from what was done, and the model reads how much", async () => {
  const own = shop();
  const report = await talk([program(STOCK, PAY, FAILS), program(STOCK, PAY, "return left;"), DONE], own);
  expect(own.asked).toEqual(["stock 1", "pay 2"]);
  expect(report.usage).toMatchObject({ calls: 4, reused: 2 });
  const [first, second] = report.transcript.turns.flatMap(({ results }) => results);
  expect(first?.text).toMatch(/Already done.*: pay\./);
  expect(first?.text).toContain("not made again");
  expect(second?.text).toMatch(/^1\n\nAll 2 calls /);
  expect(report.calls.map(({ callId, from }) => [callId, from?.callId])).toEqual([
    [expect.stringMatching(/\/1$/), undefined],
    [expect.stringMatching(/\/2$/), undefined],
    [expect.stringMatching(/\/1$/), "1"],
    [expect.stringMatching(/\/2$/), "2"],
  ]);
});

test("a conversation that copies another one says that its programs make calls again", async () => {
  const own = shop();
  const runtime = await runtimeWith(own.tools);
  const first = await runtime.agent({ model: scriptedModel([program(PAY, FAILS), DONE]), task: "Pay" });
  for (const continued of [first.execution, first.transcript]) {
    const model = scriptedModel([DONE, DONE, DONE]);
    await using next = await runtime.conversation({ model, from: continued });
    const { transcript } = await next.send("Go on.");
    expect(transcript.turns[0]?.results[0]?.text).toMatch(/Already done[^]*makes them again\./);
  }
});

test("the program after one that was stopped by a limit goes on from it, and so does the one after that", async () => {
  const own = shop();
  const runtime = await runtimeWith(own.tools);
  const large = "return 'x'.repeat(9_000_000);";
  const script = [program(PAY, large), program(PAY, FAILS), program(PAY, "return 1;"), DONE];
  const report = await runtime.agent({ model: scriptedModel(script), task: "Pay" });
  expect(report.transcript.turns[0]?.results[0]?.text).toContain("(limit frameBytes)");
  expect(report.ending.type).toBe("answered");
  expect(own.asked.filter((one) => one === "pay 2")).toHaveLength(1);
});

test("a program after one that completed begins anew, and so does any with reuseResults: never", async () => {
  const own = shop();
  const completed = await talk([program(PAY, "return 1;"), program(PAY, "return 1;"), DONE], own);
  expect([own.asked, completed.usage.reused]).toEqual([["pay 2", "pay 2"], undefined]);
  const never = shop();
  const report = await talk([program(PAY, FAILS), program(PAY, "return 1;"), DONE], never, { reuseResults: "never" });
  expect([never.asked, report.usage.reused]).toEqual([["pay 2", "pay 2"], undefined]);
  expect(report.transcript.turns[0]?.results[0]?.text).not.toContain("The next program may");
});

test("a program that could not be read does not stand between", async () => {
  const own = shop();
  await talk([program(PAY, FAILS), program("return (;"), program(PAY, "return 1;"), DONE], own);
  expect(own.asked).toEqual(["pay 2"]);
});

/** Runs the programs, the last one in another process if `where` says so. */
async function inTwo(
  where: "at once" | "later",
  script: readonly ScriptedTurn[],
  { tools }: ReturnType<typeof shop>,
): Promise<void> {
  const open = { tools, sandbox, journal: createMemoryJournal() };
  const model = scriptedModel([
    ...script.slice(0, -1),
    ...(where === "later" ? [DONE] : []),
    ...script.slice(-1),
    DONE,
  ]);
  const runtime = await createRuntime(open);
  await runtime.execution("talk").send("Pay", { model });
  if (where === "at once") return;
  await using other = await createRuntime(open);
  await other.execution("talk").send("Go on", { model });
}

test("a change of unknown outcome that was made again by a decision is not asked about once more", async () => {
  const asked: string[] = [];
  const pay = makeTool({
    name: "pay",
    inputSchema: z.object({ n: z.number() }),
    effect: "write",
    timeoutMs: 20,
    execute: ({ n }) => (asked.push(`pay ${n}`) === 1 ? new Promise(() => {}) : n),
  });
  const script = [program(PAY), program(PAY, FAILS), program(PAY, "return 1;"), program(PAY, "return 2;"), DONE];
  const journal = createMemoryJournal();
  const { ending } = await talk(script, { tools: [pay], asked }, { journal });
  const [{ callId, why } = { callId: "", why: "" }] = ending.type === "waiting" ? ending.approvals : [];
  expect([why, asked]).toEqual(["outcome_unknown", ["pay 2"]]);
  const other = await runtimeWith([pay], { journal });
  const report = await other.execution("talk").resume({
    model: scriptedModel(script),
    decisions: { [callId]: { allow: true } },
  });
  expect([report.ending.type, asked]).toEqual(["answered", ["pay 2", "pay 2", "pay 2"]]);
});

test("a program that could not read what others have done does not hide it from the next one", async () => {
  const store = createMemoryJournal();
  let fails = true;
  const read: Journal["read"] = (execution, options) => {
    const isCorrected = execution !== "talk" && options?.count === undefined;
    if (isCorrected && fails) throw new Error("unreachable");
    return store.read(execution, options);
  };
  const own = shop();
  const journal = { ...store, read };
  const failed = { programs: ["await tools.pay({ n: 1 });", "await tools.pay({ n: 2 });"].map((one) => one + FAILS) };
  const both = program("await tools.pay({ n: 1 }); await tools.pay({ n: 2 }); return 1;");
  const model = scriptedModel([failed, both, both, DONE]);
  const open = { tools: own.tools, sandbox, journal };
  const runtime = await createRuntime(open);
  await expect(runtime.execution("talk").send("Pay", { model })).rejects.toThrow("unreachable");
  fails = false;
  const other = await createRuntime(open);
  const { ending } = await other.execution("talk").resume({ model });
  expect([ending.type, own.asked]).toEqual(["answered", ["pay 1", "pay 2"]]);
});

describe.each(["at once", "later"] as const)("what a program has not used of a failed one, %s:", (where) => {
  const both = "await tools.pay({ n: 1 }); await tools.pay({ n: 2 });";

  test("one that only looks leaves all changes to the next, and what was read is read anew", async () => {
    const own = shop();
    const look = program("return tools.stock({ n: 9 });");
    await inTwo(where, [program(STOCK, both, FAILS), look, look, program(STOCK, both, "return left;")], own);
    expect(own.asked).toEqual(["stock 1", "pay 1", "pay 2", "stock 9", "stock 9", "stock 1"]);
  });
});

test("what another program than the last one has read is read again", async () => {
  const own = shop();
  const failed = { programs: [`${STOCK} ${FAILS}`, FAILS] };
  await talk([failed, program(STOCK, "return left;"), DONE], own);
  expect(own.asked).toEqual(["stock 1", "stock 1"]);
});

test("what was read is read again after the model itself has changed something", async () => {
  const own = shop();
  const direct: ScriptedTurn = { calls: [{ tool: "pay", input: { n: 9 } }] };
  await talk([program(STOCK, PAY, FAILS), direct, program(STOCK, PAY, "return left;"), DONE], own);
  expect(own.asked).toEqual(["stock 1", "pay 2", "pay 9", "stock 1"]);
});
