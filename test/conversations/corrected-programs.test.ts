import { expect, test } from "vitest";
import { z } from "zod";
import { type Approve, createRuntime, defineTool } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel, type ScriptedTurn } from "../../src/runtime/testing.ts";

const sandbox = createMemorySandbox();
const FAILS = "throw new Error('the last line is wrong');";
const DONE = { text: "Done." };

/** A shop whose handlers note what they are asked. `pay` may be called by a model, too. */
function shop(approval: "never" | "always" = "never") {
  const asked: string[] = [];
  const common = { description: "d", input: z.object({ n: z.number() }) } as const;
  const tools = [
    defineTool({
      ...common,
      name: "stock",
      effect: "read",
      allowedCallers: ["programmatic"],
      handler: ({ n }) => asked.push(`stock ${n}`),
    }),
    defineTool({
      ...common,
      name: "pay",
      effect: "write",
      approval,
      allowedCallers: ["direct", "programmatic"],
      handler: ({ n }) => asked.push(`pay ${n}`),
    }),
  ];
  return { tools, asked };
}

interface Given {
  readonly journal?: Journal;
  readonly approve?: Approve;
  readonly reuse?: "after-failure" | "never";
}

async function talk(script: readonly ScriptedTurn[], { tools }: ReturnType<typeof shop>, given: Given = {}) {
  const { reuse, ...options } = given;
  const runtime = await createRuntime({ tools, sandbox, logger: { error: () => {} }, ...options });
  return runtime.agent({ model: scriptedModel(script), task: "Pay", execution: "talk", ...(reuse && { reuse }) });
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

test("the program after one that was stopped by a limit goes on from it, and so does the one after that", async () => {
  const own = shop();
  const runtime = await createRuntime({ tools: own.tools, sandbox, limits: { frameBytes: 1024 * 1024 } });
  const large = "return 'x'.repeat(2_000_000);";
  const script = [program(PAY, large), program(PAY, FAILS), program(PAY, "return 1;"), DONE];
  const report = await runtime.agent({ model: scriptedModel(script), task: "Pay" });
  expect(report.transcript.turns[0]?.results[0]?.text).toContain("(limit frameBytes)");
  expect(report.ending.type).toBe("answered");
  expect(own.asked.filter((one) => one === "pay 2")).toHaveLength(1);
});

test("what was done is not done again after a program between that failed before it came to it", async () => {
  const own = shop();
  const report = await talk(
    [program(STOCK, PAY, FAILS), program(FAILS), program(FAILS), program(STOCK, PAY, "return left;"), DONE],
    own,
  );
  // What was read is read anew: the program between did not read it.
  expect(own.asked).toEqual(["stock 1", "pay 2", "stock 1"]);
  expect(report.usage.reused).toBe(1);
});

test("a program after one that completed begins anew, and so does any with reuse: never", async () => {
  const own = shop();
  const completed = await talk([program(PAY, "return 1;"), program(PAY, "return 1;"), DONE], own);
  expect([own.asked, completed.usage.reused]).toEqual([["pay 2", "pay 2"], undefined]);
  const never = shop();
  const report = await talk([program(PAY, FAILS), program(PAY, "return 1;"), DONE], never, { reuse: "never" });
  expect([never.asked, report.usage.reused]).toEqual([["pay 2", "pay 2"], undefined]);
  expect(report.transcript.turns[0]?.results[0]?.text).not.toContain("The next program may");
});

test("a program that could not be read does not stand between", async () => {
  const own = shop();
  await talk([program(PAY, FAILS), program("return (;"), program(PAY, "return 1;"), DONE], own);
  expect(own.asked).toEqual(["pay 2"]);
});

test("two programs that failed in one turn are corrected one by one", async () => {
  const own = shop();
  const one = `await tools.pay({ n: 1 });`;
  const two = `await tools.pay({ n: 2 });`;
  await talk(
    [
      { programs: [`${one} ${FAILS}`, `${two} ${FAILS}`] },
      { programs: [`${two} return 2;`, `${one} return 1;`] },
      DONE,
    ],
    own,
  );
  expect(own.asked).toEqual(["pay 1", "pay 2"]);
});

test("what was read is read again after the model itself has changed something", async () => {
  const own = shop();
  const direct: ScriptedTurn = { calls: [{ tool: "pay", input: { n: 9 } }] };
  await talk([program(STOCK, PAY, FAILS), direct, program(STOCK, PAY, "return left;"), DONE], own);
  expect(own.asked).toEqual(["stock 1", "pay 2", "pay 9", "stock 1"]);
});

test("a corrected program that waits goes on in another process with what it was given", async () => {
  const journal = createMemoryJournal();
  const own = shop("always");
  let asks = 0;
  const approve: Approve = ({ input }) => {
    asks += 1;
    return (input as { readonly n: number }).n === 3 ? "later" : true;
  };
  const script = [
    program(PAY, FAILS),
    program(PAY, "await tools.pay({ n: 3 });", "await tools.pay({ n: 4 });", "return 1;"),
    DONE,
  ];
  const waiting = await talk(script, own, { journal, approve });
  expect(waiting.ending).toMatchObject({ type: "waiting", approvals: [{ tool: "pay", input: { n: 3 } }] });
  const [{ callId } = { callId: "" }] = waiting.ending.type === "waiting" ? waiting.ending.approvals : [];
  await using runtime = await createRuntime({ tools: own.tools, sandbox, journal, approve });
  const report = await runtime.resumeAgent("talk", {
    model: scriptedModel(script),
    decisions: { [callId]: { allow: true } },
  });
  expect(report.ending).toMatchObject({ type: "answered" });
  expect(own.asked).toEqual(["pay 2", "pay 3", "pay 4"]);
  expect(asks).toBe(3);
  expect(report.usage.reused).toBe(1);
});

test("a conversation that was left after a program failed goes on from it in another process", async () => {
  const journal = createMemoryJournal();
  const own = shop();
  const runtime = await createRuntime({ tools: own.tools, sandbox, journal });
  const model = scriptedModel([program(PAY, FAILS), { text: "It failed." }, program(PAY, "return 1;"), DONE]);
  await runtime.say("talk", "Pay", { model });
  await using other = await createRuntime({ tools: own.tools, sandbox, journal });
  const report = await other.say("talk", "Then mend it", { model });
  expect(own.asked).toEqual(["pay 2"]);
  expect(report.usage.reused).toBe(1);
});
