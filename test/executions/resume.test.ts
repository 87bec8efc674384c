import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Approve, createSqliteJournal, defineTool, type Runtime, type Tool } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { codeOf, failing, makeTool, newFile, runtimeWith } from "../support/index.ts";

const journals: Readonly<Record<string, () => Journal>> = {
  memory: () => createMemoryJournal(),
  sqlite: () => createSqliteJournal({ path: newFile() }),
};

/** Tools with a note of what their handlers have done. */
function bank() {
  const done: string[] = [];
  const input = z.object({ n: z.number() });
  const common = { description: "d", inputSchema: input, allowedCallers: ["programmatic"] } as const;
  const tools: readonly Tool[] = [
    defineTool({
      ...common,
      name: "pay",
      effect: "write",
      approval: "always",
      execute: ({ n }, { idempotencyKey }) => {
        done.push(idempotencyKey);
        return { paid: n };
      },
    }),
    defineTool({ ...common, name: "read", effect: "read", execute: ({ n }) => n * 2 }),
    defineTool({
      ...common,
      name: "stock",
      effect: "read",
      outputSchema: z.object({ units: z.number() }),
      execute: "client",
    }),
  ];
  return { tools, done };
}

const LATER: Approve = () => "later";

function openOn(journal: Journal, tools: readonly Tool[], approve: Approve = LATER): Promise<Runtime> {
  return runtimeWith(tools, { journal, approve });
}

describe.each(Object.entries(journals))("in the %s journal", (_, makeJournal) => {
  const open = (journal = makeJournal(), tools = bank().tools, approve = LATER) => openOn(journal, tools, approve);

  test("a program waits for an approval, its runtime ends, and another one takes it up with the decision", async () => {
    const journal = makeJournal();
    const { tools, done } = bank();
    const program = `
      console.log("before");
      const two = await tools.read({ n: 1 });
      const { paid } = await tools.pay({ n: two });
      console.log("after");
      return paid + (await tools.read({ n: 5 }));
    `;
    {
      await using runtime = await open(journal, tools);
      const report = await runtime.execute(program, { id: "order-1" });
      const inputDigest = hash("sha256", '{"n":2}');
      const call = { callId: "2", tool: "pay", input: { n: 2 }, inputDigest, why: "approval", hold: 1 };
      expect(report.outcome).toMatchObject({ type: "waiting", approvals: [call], calls: [] });
      expect(report.output.text).toContain("pay (call 2)");
      expect(await Array.fromAsync(runtime.executions.list({ open: true }))).toMatchObject([
        { execution: "order-1", state: "waiting", waitsFor: ["pay"], driven: false },
      ]);
    }
    await using runtime = await open(journal, tools);
    await runtime.execution("order-1").decide({ "2": { allow: true, by: "ann", note: "checked" } });
    expect(done).toEqual([]);
    const report = await runtime.execution("order-1").resume();
    expect(report.outcome).toEqual({ type: "completed", value: 12 });
    expect(report.logs.text).toBe("before\nafter\n");
    expect(report.calls.map(({ callId, tool, outcome }) => [callId, tool, outcome.type])).toEqual([
      ["1", "read", "value"],
      ["2", "pay", "value"],
      ["3", "read", "value"],
    ]);
    expect(done).toEqual([expect.stringMatching(/^order-1:(\d+:)?2:/)]);
  });

  test("a denial reaches the program with its note, and an ended execution gives its report again without running", async () => {
    const journal = makeJournal();
    const { tools, done } = bank();
    await using runtime = await open(journal, tools);
    const program = `try { await tools.pay({ n: 1 }); } catch (error) { return error.message; }`;
    await runtime.execute(program, { id: "one" });
    const decisions = { "1": { allow: false, by: "ann", note: "too much" } };
    const report = await runtime.execution("one").resume({ decisions });
    expect(report.outcome).toMatchObject({ type: "completed", value: expect.stringContaining('"too much"') });
    const again = await runtime.execute(program, { id: "one" });
    expect(again.outcome).toEqual(report.outcome);
    expect(again.output.text).toBe(report.output.text);
    expect((await runtime.execution("one").resume()).calls).toMatchObject(
      report.calls.map(({ callId, outcome }) => ({ callId, outcome })),
    );
    expect(done).toEqual([]);
  });

  test("everything else is done before a program waits, timers too, and calls that wait together are decided one by one", async () => {
    await using runtime = await open();
    const report = await runtime.execute(
      `const paid = [1, 2].map((n) => tools.pay({ n }));
       await new Promise((resolve) => setTimeout(resolve, 20));
       console.log(await tools.read({ n: 4 }));
       return (await Promise.all(paid)).map(({ paid }) => paid);`,
      { id: "two" },
    );
    expect(report.logs.text).toBe("8\n");
    expect(report.outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "1" }, { callId: "2" }] });
    const half = await runtime.execution("two").resume({ decisions: { "2": { allow: true } } });
    expect(half.outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "1" }] });
    const whole = await runtime.execution("two").resume({ decisions: { "1": { allow: true } } });
    expect(whole.outcome).toEqual({ type: "completed", value: [1, 2] });
  });

  test("a client's tool is answered from outside, by a value or an error, and its output schema holds", async () => {
    await using runtime = await open();
    const program = `const tried = await Promise.allSettled([1, 2, 3].map((n) => tools.stock({ n })));
      return tried.map(({ value, reason }) => value?.units ?? reason.message);`;
    const waits = await runtime.execute(program, { id: "stock" });
    expect(waits.outcome).toMatchObject({
      type: "waiting",
      approvals: [],
      calls: [1, 2, 3].map((n) => ({ callId: `${n}`, tool: "stock", input: { n } })),
    });
    const before = await Array.fromAsync(runtime.journal.read("stock"));
    const first = { "1": { value: { units: 4 } }, "2": { error: "There is no article 2." } };
    await expect(
      runtime.execution("stock").resume({ results: { ...first, "3": { value: { units: "many" } } } }),
    ).rejects.toMatchObject(
      failing("option_invalid", /^results\["3"\]\.value does not match the output of stock: units: /),
    );
    expect(await Array.fromAsync(runtime.journal.read("stock"))).toEqual(before);
    const report = await runtime.execution("stock").resume({ results: { ...first, "3": { value: { units: 7 } } } });
    expect(report.outcome).toEqual({ type: "completed", value: [4, "There is no article 2.", 7] });
  });

  test("another tenant's execution is unknown, in the words of one that is not there", async () => {
    await using runtime = await open();
    await runtime.execute("return tools.pay({ n: 1 });", { id: "one" });
    const refusal = (work: Promise<unknown>) =>
      work.then(String, ({ code, message }: Error & { code?: string }) => ({ code, message }));
    const other = (id: string) => runtime.execution(id, { tenant: "other" });
    for (const work of [
      (id: string) => other(id).decide({ "1": { allow: true } }),
      (id: string) => other(id).resume(),
    ]) {
      const absent = JSON.stringify(await refusal(work("two")));
      expect(absent).toContain("execution_unknown");
      expect(JSON.stringify(await refusal(work("one")))).toBe(absent.replace("two", "one"));
    }
  });

  test("decisions and results that fit no waiting call are refused, and change nothing", async () => {
    await using runtime = await open();
    await runtime.execute("return [await tools.pay({ n: 1 }), await tools.stock({ n: 1 })];", { id: "one" });
    expect(await codeOf(runtime.execution("two").decide({ "1": { allow: true } }))).toBe("execution_unknown");
    expect(await codeOf(runtime.execution("one").decide({ "9": { allow: true } }))).toBe("call_unknown");
    expect(await codeOf(runtime.execution("one").decide({ __proto__: { allow: true }, "01": { allow: true } }))).toBe(
      "call_unknown",
    );
    expect(await codeOf(runtime.execution("one").resume({ results: { "1": { value: 1 } } }))).toBe("call_unknown");
    expect(await codeOf(runtime.execution("one").decide({ "1": { done: { value: 1 } } }))).toBe("call_unknown");
    expect(await codeOf(runtime.execution("one").decide({ "1": {} }))).toBe("option_invalid");
    expect((await runtime.execution("one").status()).report?.outcome).toMatchObject({ approvals: [{ callId: "1" }] });
  });

  test("a second decision is told who made the first one, also after the execution has gone on or ended", async () => {
    await using runtime = await open();
    await runtime.execute("return [await tools.pay({ n: 1 }), await tools.stock({ n: 1 })];", { id: "one" });
    const second = () => runtime.execution("one").decide({ "1": { allow: true } });
    const told = failing("decision_exists", "by ann: denied");
    await runtime.execution("one").resume({ decisions: { "1": { allow: false, by: "ann" } } });
    await expect(second()).rejects.toMatchObject(told);
    expect(await codeOf(runtime.execution("one").decide({ "2": { allow: true } }))).toBe("call_unknown");
  });

  test.each<["pay" | "stock", unknown, string]>([
    ["pay", { allow: true, nte: "late" }, 'decisions["1"]: there is no option "nte", did you mean note?'],
    ["pay", { allow: true, by: 7 }, 'decisions["1"].by: expected a string of at most 256 characters, got 7'],
    ["pay", { allow: true, note: "x".repeat(2049) }, 'decisions["1"].note: expected a string of at most 2048'],
    ["pay", { allow: true, remember: true }, 'decisions["1"].remember: expected "execution", got true'],
    ["pay", true, 'decisions["1"]: expected an object like { allow: true }, got true'],
    ["pay", null, 'decisions["1"]: expected an object like { allow: true }, got null'],
    ["stock", "four", 'results["1"]: expected { value } or { error }, got "four"'],
    ["stock", { value: 1, error: "no" }, 'results["1"]: expected { value } or { error }'],
    ["stock", { error: 7 }, 'results["1"].error: expected a sentence for the program, got 7'],
    ["stock", { units: 4 }, 'results["1"]: there is no option "units"'],
  ])("of a call of %s, %j is refused with what is wrong, and the call still waits", async (tool, given, message) => {
    await using runtime = await open();
    await runtime.execute(`return tools.${tool}({ n: 1 });`, { id: "one" });
    const before = await Array.fromAsync(runtime.journal.read("one"));
    const refused = { code: "option_invalid", message: expect.stringContaining(message) };
    const one = runtime.execution("one");
    const options = { [tool === "pay" ? "decisions" : "results"]: { "1": given } };
    await expect(one.resume(options)).rejects.toMatchObject(refused);
    if (tool === "pay") await expect(one.decide({ "1": given as never })).rejects.toMatchObject(refused);
    expect(await Array.fromAsync(runtime.journal.read("one"))).toEqual(before);
  });

  test("no decision at all is refused: a caller that lost its map would wait for an execution that nobody decided", async () => {
    await using runtime = await open();
    for (const none of [{}, undefined, []])
      await expect(runtime.execution("one").decide(none as never)).rejects.toMatchObject(
        failing("option_invalid", "decide(decisions): expected decisions by call id"),
      );
  });

  test("tools that are gone or changed are named, and the execution stays as it is", async () => {
    const journal = makeJournal();
    const { tools } = bank();
    {
      await using runtime = await open(journal, tools);
      await runtime.execute("return await tools.pay({ n: 1 });", { id: "one" });
    }
    const [pay, , stock] = tools as readonly [Tool, Tool, Tool];
    const other: Tool = { ...pay, inputSchema: z.object({ n: z.string() }) };
    await using runtime = await open(journal, [other, stock]);
    const decisions = { "1": { allow: true } };
    await expect(runtime.execution("one").resume({ decisions })).rejects.toMatchObject(
      failing("tools_changed", "(gone: read; changed: pay)"),
    );
    const report = await runtime.execution("one").resume({ decisions, allowChangedTools: true });
    expect(report.outcome).toMatchObject({ type: "failed", fault: { code: "input_invalid" } });
  });

  test("another program, language or tenant under an id is refused", async () => {
    const journal = makeJournal();
    await using runtime = await open(journal, []);
    await runtime.execute("return 1;", { id: "one" });
    expect(await codeOf(runtime.execute("return 2;", { id: "one" }))).toBe("execution_exists");
    expect(await codeOf(runtime.execute("return 1;", { id: "one", tenant: "b" }))).toBe("execution_exists");
    expect((await runtime.execute("return 1;", { id: "one" })).outcome).toMatchObject({ value: 1 });
  });

  test("the same id joins an execution that runs", async () => {
    await using runtime = await open();
    const program = "return await tools.read({ n: 1 });";
    const reports = await Promise.all([1, 2, 3].map(() => runtime.execute(program, { id: "one" })));
    expect(reports.map(({ outcome }) => outcome)).toEqual([1, 2, 3].map(() => ({ type: "completed", value: 2 })));
    expect(await Array.fromAsync(runtime.journal.list())).toHaveLength(1);
  });

  test("a decision reaches a program that still runs", async () => {
    const journal = makeJournal();
    const { tools } = bank();
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<boolean>();
    await using runtime = await open(journal, tools, () => {
      asked.resolve();
      return answer.promise;
    });
    const running = runtime.execute("return await tools.pay({ n: 1 });", { id: "one" });
    await asked.promise;
    await runtime.execution("one").decide({ "1": { allow: true, by: "ann" } });
    expect((await running).outcome).toEqual({ type: "completed", value: { paid: 1 } });
    answer.resolve(false);
    const decisions = (await Array.fromAsync(journal.read("one"))).filter(({ type }) => type === "decision");
    expect(decisions).toMatchObject([{ by: "ann", allow: true }]);
  });
});

test("what waits is listed as far as its inputs have room together; the rest is counted, and listed once that is decided", async () => {
  const { tools, done } = bank();
  await using runtime = await openOn(journals.sqlite!(), [
    ...tools,
    makeTool({
      name: "send",
      inputSchema: z.object({ n: z.number(), text: z.string() }),
      approval: "always",
      effect: "idempotent",
      execute: ({ n }) => n,
    }),
  ]);
  const program = `const text = "x".repeat(30_000);
return (await Promise.all(Array.from({ length: 30 }, (_, n) => tools.send({ n, text })))).length;`;
  let report = await runtime.execute(program, { id: "many" });
  const listed: number[] = [];
  for (let rounds = 0; report.outcome.type === "waiting" && rounds < 30; rounds += 1) {
    const { approvals, more = 0 } = report.outcome;
    expect(listed.length + approvals.length + more).toBe(30);
    listed.push(...approvals.map(({ input }) => (input as { readonly n: number }).n));
    const decisions = Object.fromEntries(approvals.map(({ callId }) => [callId, { allow: true }]));
    report = await runtime.execution("many").resume({ decisions });
  }
  expect(report.outcome).toMatchObject({ type: "completed", value: 30 });
  expect(listed).toEqual(Array.from({ length: 30 }, (_, n) => n));
  expect(done).toEqual([]);
});
