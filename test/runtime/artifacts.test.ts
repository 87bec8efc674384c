import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createSqliteJournal, type Report, type Runtime, type RuntimeOptions } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import type { ArtifactRecord, JournalRecord } from "../../src/journal/record.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { codeOf, echo, journalWith, makeTool, newFile, runtimeWith } from "../support/index.ts";

const JOURNALS: Readonly<Record<string, () => Journal>> = {
  memory: () => createMemoryJournal(),
  sqlite: () => createSqliteJournal({ path: newFile() }),
};
const sandbox = createMemorySandbox();
const python = createForkedPythonSandbox();
afterAll(async () => {
  await python[Symbol.asyncDispose]();
});

const start = (options: Partial<RuntimeOptions> = {}) => runtimeWith([echo], options);
const rowsOf = (count: number) => Array.from({ length: count }, (_, id) => ({ id, name: `customer ${id}` }));
let fetched = 0;
const all = makeTool({
  name: "crm.all",
  inputSchema: z.object({ count: z.number().default(3000) }),
  allowedCallers: ["programmatic", "direct"],
  execute: ({ count }) => {
    fetched += 1;
    return rowsOf(count);
  },
});

async function recordsOf(journal: Journal, id: string): Promise<readonly JournalRecord[]> {
  return Array.fromAsync(journal.read(id));
}
const isArtifact = (record: JournalRecord): record is ArtifactRecord => record.type === "artifact";
const valueOf = ({ outcome }: Report) => (outcome.type === "completed" ? outcome.value : outcome);

const LANGUAGES = [
  {
    name: "javascript",
    language: "javascript",
    sandbox,
    keeps: `const handle = await save("rows", [{ id: 1 }, { id: 2 }]);
      return [handle, await load("rows")];`,
    refused: `const told = [];
      for (const name of ["__proto__", "../etc/passwd", "a/b", ".hidden", "a.", "nul\\u0000", "é", "x".repeat(101), "toString/"])
        told.push(await save(name, 1).catch(({ code }) => code));
      for (const name of ["__proto__", "constructor", "toString", "x".repeat(5000)])
        told.push(await load(name).catch(({ code }) => code));
      return told;`,
    unawaited: `save("rows", [1]); return 1;`,
    twice: `await save("a", 1); await save("a", 2); await save("constructor", 3); return [await load("a"), await load("constructor")];`,
    nearest: `await save("orders", [1]); await save("customers", {}); return await load("order").catch(({ message }) => message);`,
  },
  {
    name: "python",
    language: "python",
    sandbox: python,
    keeps: `handle = await save("rows", [{"id": 1}, {"id": 2}])
[handle, await load("rows")]`,
    refused: `told = []
for name in ["__proto__", "../etc/passwd", "a/b", ".hidden", "a.", "nul\\u0000", "é", "x" * 101, "toString/"]:
    try:
        await save(name, 1)
    except ToolError as error:
        told.append(error.code)
for name in ["__proto__", "constructor", "toString", "x" * 5000]:
    try:
        await load(name)
    except ToolError as error:
        told.append(error.code)
told`,
    unawaited: `call = save("rows", [1])
1`,
    twice: `await save("a", 1)
await save("a", 2)
await save("constructor", 3)
[await load("a"), await load("constructor")]`,
    nearest: `await save("orders", [1])
await save("customers", {})
try:
    await load("order")
except ToolError as error:
    told = str(error)
told`,
  },
] as const;

describe.each(LANGUAGES.filter(({ language }) => language !== "python" || !PYTHON.missing))(
  "save and load in $name",
  (one) => {
    const { language } = one;
    const run = async (program: string, options: Partial<RuntimeOptions> = {}) => {
      await using runtime = await start({ sandbox: one.sandbox, ...options });
      const report = await runtime.execute(program, { language });
      if (report.usage.turns > 0)
        expect(await runtime.execution(report.execution).replay()).toEqual({ type: "identical" });
      return report;
    };
    test("a value comes back as it was, and the host reads it", async () => {
      const report = await run(one.keeps);
      const shape = "{ id: number }[] /* 2 */";
      expect(valueOf(report)).toEqual([{ artifact: "rows", bytes: 19, shape }, [{ id: 1 }, { id: 2 }]]);
      expect(report.artifacts).toMatchObject([{ name: "rows", bytes: 19, shape }]);
      expect(await report.artifacts[0]?.read()).toEqual([{ id: 1 }, { id: 2 }]);
      expect(report.output.text).toContain(
        'Kept for the host:\n  rows: 19 bytes, { id: number }[] /* 2 */, first: {"id":1}',
      );
    });

    test("names that are no plain names are refused, and none means anything to JavaScript", async () => {
      expect(valueOf(await run(one.refused))).toEqual(Array(13).fill("input_invalid"));
    });

    test("a save that is not awaited fails the program", async () => {
      const { outcome } = await run(one.unawaited);
      expect(outcome).toMatchObject({ type: "failed", fault: { code: "calls_not_awaited" } });
    });

    test("of two values under one name the last one holds", async () => {
      const report = await run(one.twice);
      expect(valueOf(report)).toEqual([2, 3]);
      expect(report.artifacts.map(({ name }) => name)).toEqual(["a", "constructor"]);
      expect(await report.artifacts[0]?.read()).toBe(2);
    });

    test("a load of an unknown name is told what there is", async () => {
      expect(valueOf(await run(one.nearest))).toContain(
        'nothing is kept under "order", but under "orders" (3 bytes), "customers" (2 bytes); did you mean "orders"?',
      );
    });
  },
);

describe("limits", () => {
  const run = async (program: string, limits: RuntimeOptions["limits"] & object) => {
    await using runtime = await start({ limits });
    return await runtime.execute(program);
  };

  test("a value over artifactBytes is refused, and the program may go on", async () => {
    const program = `return [await save("a", "x".repeat(1_048_574)).then(({ bytes }) => bytes), await save("b", "x".repeat(1_048_575)).catch(({ message }) => message)];`;
    const report = await run(program, { resultBytes: 100_000 });
    expect(valueOf(report)).toEqual([1_048_576, expect.stringContaining("limit artifactBytes")]);
    expect(report.artifacts.map(({ name }) => name)).toEqual(["a"]);
  });

  test("an input of a tool is held to inputBytes, and a value that is kept is not", async () => {
    const program = `const x = "x".repeat(1_100_000); return [await save("a", x).then(() => 1), await tools.echo({ x }).catch(({ code }) => code)];`;
    expect(valueOf(await run(program, {}))).toEqual([1, "budget_spent"]);
  });

  test("no more names than artifacts, also where they are saved at once; a name may be used again", async () => {
    const program = `const told = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => save("n" + n, n)));
      await save("n0", "again");
      return told.filter(({ status }) => status === "rejected").map(({ reason }) => reason.message);`;
    const report = await run(program, { artifacts: 3 });
    expect(valueOf(report)).toEqual(Array(17).fill(expect.stringContaining("limit artifacts")));
    expect(report.artifacts).toHaveLength(3);
    expect(await report.artifacts[0]?.read()).toBe("again");
  });

  test("what is kept and loaded counts in totalBytes", async () => {
    const program = `const text = "x".repeat(100_000); for (let n = 0; ; n += 1) await save("a", text + n);`;
    expect((await run(program, { totalBytes: 1_000_000 })).outcome).toMatchObject({
      type: "stopped",
      limit: "totalBytes",
    });
    const loads = `await save("a", "x".repeat(100_000)); for (;;) await load("a");`;
    expect((await run(loads, { totalBytes: 1_000_000 })).outcome).toMatchObject({
      type: "stopped",
      limit: "totalBytes",
    });
  });

  test("an artifact that is larger than a result may be is not loaded", async () => {
    const program = `await save("a", "x".repeat(1000)); return await load("a").catch(({ code }) => code);`;
    expect(valueOf(await run(program, { resultBytes: 500 }))).toBe("result_too_large");
  });

  test("loads do not count as bytes that tools returned", async () => {
    const { usage } = await run(`await save("a", "x".repeat(1000)); await load("a"); return 1;`, {});
    expect(usage).toMatchObject({ calls: 2, bytesIn: 0 });
  });
});

describe("a value that is too large for a model is kept by itself", () => {
  test.each(Object.entries(JOURNALS))("whole, and the report of the same id has it too: %s", async (_name, journal) => {
    await using runtime = await start({ journal: journal() });
    const program = "return Array.from({ length: 10_000 }, (_, n) => n);";
    for (let time = 0; time < 2; time += 1) {
      const report = await runtime.execute(program, { id: "big" });
      expect(valueOf(report)).toMatchObject({ artifact: "result-1", too_large: expect.stringContaining("result-1") });
      expect(report.artifacts.map(({ name }) => name)).toEqual(["result-1"]);
      expect(await report.artifacts[0]?.read()).toHaveLength(10_000);
    }
  });

  test.each(Object.entries(JOURNALS))(
    "so is what was printed, of both streams, in order: %s",
    async (_name, journal) => {
      await using runtime = await start({ journal: journal(), limits: { outputBytes: 512 } });
      const program = `await save("printed", 1); for (let n = 0; n < 99; n += 1) { console.log("line " + n); console.error("x"); }`;
      for (let time = 0; time < 2; time += 1) {
        const report = await runtime.execute(program, { id: "long" });
        expect(report.artifacts.map(({ name }) => name)).toEqual(["printed", "printed-2"]);
        expect(await report.artifacts[1]?.read()).toBe(Array.from({ length: 99 }, (_, n) => `line ${n}\nx\n`).join(""));
        expect(report.output.text).toMatch(
          /\n\nPrinted, and kept for the host as printed-2\. Its first and last lines:\n {2}line 0\n {2}x\n/,
        );
        expect(report.output.text).not.toContain("printed-2:");
      }
    },
  );

  test("so is what a program printed before it failed or was stopped, and what fits both ends is not", async () => {
    await using runtime = await start({ limits: { outputBytes: 512, cpuMs: 500 } });
    const lines = `console.log(Array.from({ length: 99 }, (_, n) => n).join("\\n"));`;
    for (const end of ["throw new Error('no');", "await 0; await new Promise(() => {});"]) {
      const { artifacts, outcome } = await runtime.execute(`${lines} ${end}`);
      expect([outcome.type, artifacts.map(({ name }) => name)]).toEqual(["failed", []]);
      const long = await runtime.execute(`${lines} ${lines} ${lines} ${end}`);
      expect([long.outcome.type, long.artifacts.map(({ name }) => name)]).toEqual(["failed", ["printed"]]);
      expect(String(await long.artifacts[0]?.read()).split("\n")).toHaveLength(298);
    }
  });
});

const SAVES = `const all = await tools.crm.all({}); await save("customers", all); return all.length;`;
const LOADS = `const all = await load("customers"); return all.filter(({ id }) => id % 1000 === 0).map(({ name }) => name);`;

describe.each(Object.entries(JOURNALS))(
  "programs of a conversation share what they keep: journal in %s",
  (_name, open) => {
    const converse = (runtime: Runtime, programs: readonly string[], options: object = {}) => {
      const texts: string[] = [];
      const model = scriptedModel([
        ...programs.map((program) => ({ results }: { readonly results: readonly { readonly text: string }[] }) => {
          texts.push(...results.map(({ text }) => text));
          return { programs: [program] };
        }),
        ({ results }) => {
          texts.push(...results.map(({ text }) => text));
          return { text: "done" };
        },
      ]);
      return runtime.agent({ model, task: "t", ...options }).then((report) => ({ report, texts, model }));
    };

    test("a later program reads what an earlier one has fetched once", async () => {
      const journal = open();
      await using runtime = await start({ tools: [all], journal });
      fetched = 0;
      const { report, texts } = await converse(runtime, [SAVES, LOADS]);
      expect(fetched).toBe(1);
      expect(texts[0]).toMatch(
        /^3000\n\nKept, for a later program to load by name:\n {2}customers: \d+ bytes, \{ id: number, name: string \}\[\]/,
      );
      expect(texts[1]).toBe('["customer 0","customer 1000","customer 2000"]');
      expect(report.artifacts.map(({ name }) => name)).toEqual(["customers"]);
      expect(await report.artifacts[0]?.read()).toEqual(rowsOf(3000));
      // One record, whatever was loaded.
      expect((await recordsOf(journal, report.execution)).filter(isArtifact)).toHaveLength(1);
    });

    test("a result of a direct call that is too large is kept, and a program reads it", async () => {
      await using runtime = await start({ tools: [all], journal: open() });
      const model = scriptedModel([
        { calls: [{ tool: "crm.all", input: {} }] },
        ({ results }) => {
          expect(results[0]?.text).toContain('"artifact":"result-1"');
          expect(results[0]?.text.length).toBeLessThan(4200);
          expect(results[0]?.text).toContain(String.raw`await load(\"result-1\")`);
          return { programs: [`return (await load("result-1")).length;`] };
        },
        ({ results }) => ({ text: results[0]?.text ?? "" }),
      ]);
      const report = await runtime.agent({ model, task: "t" });
      expect(report.answer).toBe("3000");
      expect(report.artifacts.map(({ name }) => name)).toEqual(["result-1"]);
    });

    test("what a program has printed is read by a later one, and another program's has a name of its own", async () => {
      await using runtime = await start({ journal: open(), limits: { outputBytes: 512 } });
      const prints = `for (let n = 0; n < 200; n += 1) console.log("line " + n);`;
      const { texts } = await converse(runtime, [
        prints,
        `${prints} return (await load("printed")).split("\\n").indexOf("line 100");`,
        `return [await load("printed"), await load("printed-2")].map(({ length }) => length);`,
      ]);
      expect(texts[0]).toMatch(
        /^The program returned nothing\.\n\nPrinted, and kept: read it in a later program by await load\("printed"\)\. Its first and last lines:\n {2}line 0\n[^]*\n {2}… \d+ lines left out …\n[^]*\n {2}line 199$/,
      );
      expect(texts[1]).toMatch(/^100\n\nPrinted, and kept: .* await load\("printed-2"\)\./);
      expect(texts[2]).toBe("[1690,1690]");
    });

    test("what another conversation or tenant has kept is unknown", async () => {
      await using runtime = await start({ tools: [all], journal: open() });
      const { report } = await converse(runtime, [SAVES]);
      const peek = `return await load("customers").catch(({ message }) => message);`;
      const nothing = 'nothing is kept under \\"customers\\", or under any other name';
      expect((await converse(runtime, [peek])).texts[0]).toContain(nothing);
      expect((await converse(runtime, [peek], { tenant: "other" })).texts[0]).toContain(nothing);
      const alone = await runtime.execute(peek);
      expect(alone.output.text).toContain(nothing);
      expect(await codeOf(runtime.execution(report.execution, { tenant: "other" }).resume())).toBe("execution_unknown");
    });

    test("a conversation that waits goes on in another process with what it has kept and printed", async () => {
      const journal = open();
      const pay = makeTool({ name: "pay", effect: "write", approval: "always", execute: () => "paid" });
      const tools = [all, pay];
      const prints = (from: number) => `for (let n = ${from}; n < ${from + 100}; n += 1) console.log("line " + n);`;
      let told = "";
      const script = [
        { programs: [SAVES] },
        {
          programs: [
            `${prints(100)} await save("half", 1); await tools.pay({}); ${prints(200)} return (await load("customers")).length + (await load("half"));`,
          ],
        },
        ({ results }: { readonly results: readonly { readonly text: string }[] }) => {
          told = results[0]?.text ?? "";
          return { programs: [`return (await load("printed")).split("\\n").length;`] };
        },
        ({ results }: { readonly results: readonly { readonly text: string }[] }) => ({ text: results[0]?.text ?? "" }),
      ];
      const options: RuntimeOptions = { tools, journal, limits: { outputBytes: 512 }, approve: () => "later" };
      let id = "";
      {
        await using runtime = await start(options);
        const waiting = await runtime.agent({ model: scriptedModel(script), task: "t" });
        expect(waiting.ending.type).toBe("waiting");
        expect(waiting.artifacts.map(({ name }) => name)).toEqual(["customers", "half"]);
        id = waiting.execution;
      }
      await using runtime = await start(options);
      fetched = 0;
      const model = scriptedModel(script);
      const waiting = await runtime.execution(id).resume({ model });
      const [approval] = waiting.ending.type === "waiting" ? waiting.ending.approvals : [];
      const report = await runtime
        .execution(id)
        .resume({ model, decisions: { [approval?.callId ?? ""]: { allow: true } } });
      expect(told).toMatch(/^3001\b[^]*await load\("printed"\)/);
      expect([report.answer, fetched]).toEqual(["201", 0]);
      expect(await report.artifacts[1]?.read()).toBe(1);
      const again = await runtime.execution(id).resume({ model });
      expect(await again.artifacts[0]?.read()).toHaveLength(3000);
    });

    test("a conversation that continues an ended one has what that one kept", async () => {
      await using runtime = await start({ tools: [all], journal: open() });
      const { report } = await converse(runtime, [SAVES]);
      fetched = 0;
      // The script goes on after the turns that are there.
      const model = scriptedModel([
        { text: "" },
        { text: "" },
        { programs: [LOADS] },
        ({ results }) => ({ text: results[0]?.text ?? "" }),
      ]);
      await using talk = await runtime.conversation({ model, from: report.execution });
      const said = await talk.send("And which?");
      expect(said.answer).toBe('["customer 0","customer 1000","customer 2000"]');
      expect(fetched).toBe(0);
      expect(said.artifacts.map(({ name }) => name)).toEqual(["customers"]);
    });
  },
);

/** Keeps and loads in an execution whose journal goes on elsewhere after the last artifact, each of them changed. */
async function takenUpAfterSave(program: string, journal: Journal, change: (record: ArtifactRecord) => JournalRecord) {
  const limits = { resultBytes: 1000 };
  const first = createMemoryJournal();
  await using runtime = await start({ journal: first, limits });
  const { execution } = await runtime.execute(program);
  const records = await recordsOf(first, execution);
  const left = records
    .slice(0, records.findLastIndex(isArtifact) + 1)
    .map((record) => (isArtifact(record) ? change(record) : record));
  await journalWith(left, journal);
  await using second = await start({ journal, limits });
  return await second.execution(execution).resume();
}

test("saves that were journalled, and whose answers were lost with their host, are not made again", async () => {
  const journal = createMemoryJournal();
  const program = `await Promise.all([save("a", 1), save("a", 2)]); return await load("a");`;
  const report = await takenUpAfterSave(program, journal, (record) => record);
  expect(valueOf(report)).toBe(2);
  const artifacts = (await recordsOf(journal, report.execution)).filter(isArtifact);
  expect(artifacts.map(({ call, value }) => [call, value])).toEqual([
    ["1", "1"],
    ["2", "2"],
  ]);
});

test("an artifact of a journal from elsewhere weighs what it holds, whatever its record tells", async () => {
  using journal = createSqliteJournal({ path: newFile() });
  const program = `await save("a", 1); return await load("a").catch(({ code }) => code);`;
  const value = JSON.stringify("x".repeat(2000));
  const report = await takenUpAfterSave(program, journal, (record) => ({ ...record, value }));
  expect(valueOf(report)).toBe("result_too_large");
});
