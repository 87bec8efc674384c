import { expect, test } from "vitest";
import { type Approve, createRuntime, type Report, type Runtime, type RuntimeOptions } from "../../src/index.ts";
import { type Journal, type JournalRecord } from "../../src/journal/index.ts";
import { pastTurns } from "../../src/executions/from-journal/read-turns.ts";
import { replay } from "../../src/executions/replay.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { cutsWhere, handsItems, type Run, rowsOf, stateAfter, streamingTools } from "./streaming-tools.ts";
import { journalWith, makeTool } from "../support/index.ts";

/** Where streams are taken up. A store is made empty. */
export interface StreamPlaces {
  readonly makeJournal: () => Journal;
  readonly sandbox: Sandbox;
  /** Of the cuts of a program, one in so many is made. */
  readonly step: number;
}

const ID = "streams";
/** Batches of some four rows. */
const LIMITS = { resultBytes: 120 };
const later: Approve = () => "later";

/** Reads streams to their ends, leaves them, merges two, reads one slowly, meets one that fails, and one that begins anew. */
const MIXED = `
  const seen = [];
  let sum = 0;
  for await (const { i } of tools.rows({ n: 20 })) sum += i;
  for await (const { i } of tools.rows({ n: 60 })) if (i === 7) break;
  console.log("read", sum);
  const left = tools.rows({ n: 32 })[Symbol.asyncIterator]();
  const right = tools.again({ n: 24 })[Symbol.asyncIterator]();
  for (let [one, other] = await Promise.all([left.next(), right.next()]); !one.done || !other.done; ) {
    if (other.done || (!one.done && one.value.i <= other.value.i)) {
      seen.push(one.value.from[0]);
      one = await left.next();
    } else {
      seen.push(other.value.from[0]);
      other = await right.next();
    }
  }
  for await (const { i } of tools.put({ n: 10 })) sum += await tools.one({ n: i });
  try {
    for await (const { i } of tools.falls({ n: 6 })) sum += i;
  } catch (error) {
    seen.push(error.code);
  }
  for await (const { i } of tools.again({ n: 60 })) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    sum += i;
    if (i === 11) break;
  }
  for await (const row of tools.rows({ n: 0 })) seen.push(row);
  return { sum, seen: seen.join("") };`;

export function streamsTakenUpSuite({ makeJournal, sandbox, step }: StreamPlaces): void {
  const options = { sandbox, approve: later, limits: LIMITS, logger: { error: () => {} } } as const;

  async function open(runs: Run[], journal: Journal, more: Partial<RuntimeOptions> = {}): Promise<Runtime> {
    return createRuntime({ ...options, tools: streamingTools(runs), journal, ...more });
  }

  /** Runs a program to its end. Gives its report and its records. */
  async function run(program: string, more: Partial<RuntimeOptions> = {}) {
    const runs: Run[] = [];
    const journal = makeJournal();
    await using runtime = await open(runs, journal, more);
    const report = await runtime.execute(program, { id: ID });
    return { report, runs, journal, records: await Array.fromAsync(journal.read(ID)) };
  }

  /** Takes the execution up that a journal with these records leaves. */
  async function takeUp(records: readonly JournalRecord[], more: Partial<RuntimeOptions> = {}) {
    const journal = await journalWith(records, makeJournal());
    const runs: Run[] = [];
    await using runtime = await open(runs, journal, more);
    const report = await runtime.execution(ID).resume();
    return { report, runs, journal, records: await Array.fromAsync(journal.read(ID)) };
  }

  test("a program with streams that is stopped after any of its records ends as if it had not been", async () => {
    const first = await run(MIXED);
    const { records } = first;
    expect(first.report.outcome).toEqual({
      type: "completed",
      value: { sum: 316, seen: `${"ra".repeat(24)}rrrrrrrrhandler_failed` },
    });
    expect(await replay(() => records, sandbox, new AbortController().signal)).toEqual({ type: "identical" });

    const batches = cutsWhere(records, (_, last) => handsItems(last));
    const points = {
      afterBatch: batches.length,
      beforeBatch: cutsWhere(records, (_, last) => last.type === "turn" && asksForOne(last)).length,
      twoOpen: cutsWhere(records, ({ calls }) => [...calls.values()].filter((call) => call.streamed).length === 2)
        .length,
      left: cutsWhere(
        records,
        (_, last) => last.type === "turn" && last.commands.some((text) => text.includes('"cancel"')),
      ).length,
    };
    expect(points.afterBatch).toBeGreaterThan(15);
    expect(points.beforeBatch).toBeGreaterThan(9);
    expect(points.twoOpen).toBeGreaterThan(1);
    expect(points.left).toBe(2);

    const others = Array.from({ length: records.length - 1 }, (_, index) => index + 1);
    const cuts = new Set([...batches, ...others].filter((_, index) => index % step === 0));
    for (const cut of cuts) {
      const kept = records.slice(0, cut);
      const second = await takeUp(kept);
      expect(factsOf(second.report), `after record ${cut}`).toEqual(factsOf(first.report));
      const made = answered(kept);
      expect(
        second.runs.filter(({ callId }) => made.has(callId)),
        `after record ${cut}`,
      ).toEqual([]);
      for (const { callId, after, tool } of second.runs) {
        const { streamed } = stateAfter(kept, kept.length).calls.get(Number(callId)) ?? {};
        expect(after, `after record ${cut}`).toEqual(
          !streamed || tool === "again"
            ? undefined
            : { items: streamed.items, last: rowsOf(tool, streamed.items).at(-1) },
        );
      }
      expect(await replay(() => second.records, sandbox, new AbortController().signal), `after record ${cut}`).toEqual({
        type: "identical",
      });
    }
  });

  test("a stream that begins anew must give the items again that were read, and may give more", async () => {
    const { records } = await run("const all = await Array.fromAsync(tools.again({ n: 12 })); return all.length;");
    const { cut, items } = batch(records, 1);
    expect(items).toBeGreaterThan(4);
    const outcomes = async (rows: typeof rowsOf) => {
      const { report } = await takeUp(records.slice(0, cut), { tools: streamingTools([], rows) });
      return [report.outcome, report.calls.map(({ items: given, outcome }) => [given, outcome])];
    };
    expect(await outcomes((name, n) => rowsOf(name, n + 3))).toEqual([
      { type: "completed", value: 15 },
      [[15, { type: "value", shape: "stream of 15" }]],
    ]);
    const changed = [
      { type: "failed", fault: expect.objectContaining({ code: "stream_changed" }) as unknown },
      [[items, { type: "failed", code: "stream_changed" }]],
    ];
    expect(await outcomes((name, n) => rowsOf(name, n).with(1, { i: 99, from: name }))).toEqual(changed);
    expect(await outcomes((name) => rowsOf(name, items - 1))).toEqual(changed);
    expect(await outcomes((name) => rowsOf(name, items))).toEqual([
      { type: "completed", value: items },
      [[items, { type: "value", shape: `stream of ${items}` }]],
    ]);
  });

  test("a stream that goes on after its last item may end earlier or later than the first one would have", async () => {
    const { records } = await run("const all = await Array.fromAsync(tools.rows({ n: 12 })); return all.length;");
    const { cut, items } = batch(records, 1);
    for (const n of [0, items, items + 1, 40]) {
      const { report } = await takeUp(records.slice(0, cut), { tools: streamingTools([], (name) => rowsOf(name, n)) });
      const all = Math.max(n, items);
      expect(report.outcome).toEqual({ type: "completed", value: all });
      expect(report.calls).toMatchObject([{ items: all, outcome: { type: "value", shape: `stream of ${all}` } }]);
    }
  });

  test("of a program that is cancelled, a report and its journal tell the same of a stream with batches that it did not take", async () => {
    const runs: Run[] = [];
    const journal = makeJournal();
    const cancel = new AbortController();
    const held = makeTool({
      name: "held",
      execute: () => {
        cancel.abort();
        return new Promise<never>(() => {});
      },
    });
    const tools = [...streamingTools(runs), held];
    await using runtime = await createRuntime({ ...options, tools, journal, limits: LIMITS });
    const program = `for await (const { i } of tools.rows({ n: 400 })) if (i === 9) await Promise.all([tools.one({ n: 1 }), tools.held()]);`;
    const live = await runtime.execute(program, { id: ID, signal: cancel.signal });
    const told = ({ calls, usage }: Report) => ({
      bytesIn: usage.bytesIn,
      // Calls that end at the same moment have no order.
      calls: calls
        .map(({ callId, items, bytes, outcome }) => ({ callId, items, bytes, outcome }))
        .toSorted((a, b) => Number(a.callId) - Number(b.callId)),
    });
    expect(live.calls.find(({ tool }) => tool === "rows")?.items).toBeGreaterThan(0);
    expect(told(await runtime.execution(ID).resume())).toEqual(told(live));
  });

  test("items of a stream do not count against totalBytes, before or after a take-up", async () => {
    const program = `
      let sum = 0;
      for (let round = 0; round < 3; round += 1) {
        for await (const { i } of tools.rows({ n: 40 })) sum += i;
        sum += await tools.one({ n: 1 });
      }
      return sum;`;
    const more = { limits: { ...LIMITS, totalBytes: 1000 } };
    const { report, records } = await run(program, more);
    expect(report.outcome).toEqual({ type: "completed", value: 2343 });
    expect(report.usage.bytesIn).toBe(report.calls.reduce((sum, { bytes }) => sum + bytes, 0));
    expect(report.usage.bytesIn).toBeGreaterThan(2000);
    // A journal in memory does not keep so much of streams.
    const keeps = stateAfter(records, records.length).unreplayable === undefined;
    const cuts = cutsWhere(records, (_, last) => handsItems(last)).filter((_, index) => index % step === 0);
    for (const cut of keeps ? cuts : []) {
      const second = await takeUp(records.slice(0, cut), more);
      expect(factsOf(second.report)).toEqual(factsOf(report));
    }
  });

  test("a stream that had ended when its host died is complete, also if it changes something", async () => {
    const { records } = await run("return (await Array.fromAsync(tools.pay({ n: 9 }))).length;");
    const end = cutsWhere(records, ({ calls }) => calls.get(1)?.streamed?.items === 9)[0] ?? 0;
    const { report, runs } = await takeUp(records.slice(0, end));
    expect(report.outcome).toEqual({ type: "completed", value: 9 });
    expect(runs).toEqual([]);
  });

  test("a write that streams has an unknown outcome if its host died, and a decision says how it goes on", async () => {
    const { records } = await run("return (await Array.fromAsync(tools.pay({ n: 9 }))).map(({ i }) => i).join();");
    const { cut, id, items } = batch(records, 0);
    expect(items).toBeGreaterThan(1);
    const all = "0,1,2,3,4,5,6,7,8";
    const decided = async (decision: object) => {
      const journal = await journalWith(records.slice(0, cut), makeJournal());
      const runs: Run[] = [];
      await using runtime = await open(runs, journal);
      const { outcome } = await runtime.execution(ID).resume();
      expect(outcome).toMatchObject({ type: "waiting", approvals: [{ tool: "pay", why: "outcome_unknown" }] });
      const report = await runtime.execution(ID).resume({ decisions: { [id]: decision } });
      return { report, runs };
    };
    const done = await decided({ done: { value: rowsOf("pay", 9) } });
    expect([done.report.outcome, done.runs]).toEqual([{ type: "completed", value: all }, []]);
    expect(done.report.calls).toMatchObject([{ items: 9, outcome: { type: "value", shape: "stream of 9" } }]);
    const short = await decided({ done: { value: rowsOf("pay", 1) } });
    // It lacks items that the program has read.
    expect(short.report.outcome).toMatchObject({ type: "failed", fault: { code: "stream_changed" } });
    const allowed = await decided({ allow: true });
    expect(allowed.report.outcome).toEqual({ type: "completed", value: all });
    expect(allowed.runs).toMatchObject([{ after: { items } }]);
    const denied = await decided({ allow: false });
    expect(denied.report.outcome).toMatchObject({ type: "failed", fault: { code: "outcome_unknown" } });
    expect(denied.report.calls).toMatchObject([{ items, outcome: { code: "outcome_unknown" } }]);
    for (const [value, sentence] of [
      [{ i: 1 }, "the tool gives a stream, so the value is the list of all its items"],
      [
        [
          { i: 1, from: "x" },
          { i: "1", from: "x" },
        ],
        "item 1: ",
      ],
    ] as const)
      await expect(decided({ done: { value } })).rejects.toMatchObject({
        code: "option_invalid",
        message: expect.stringContaining(sentence) as unknown,
      });
  });

  test("what is said to be done without a driver is checked item by item when it is delivered", async () => {
    const { records } = await run("return (await Array.fromAsync(tools.pay({ n: 9 }))).length;");
    const { cut, id, items } = batch(records, 0);
    for (const value of [{ i: 1 }, [...rowsOf("pay", items), { i: "x" }]]) {
      const journal = await journalWith(records.slice(0, cut), makeJournal());
      await using runtime = await open([], journal);
      await runtime.execution(ID).resume();
      await runtime.execution(ID).decide({ [id]: { done: { value } } });
      const { outcome, calls } = await runtime.execution(ID).resume();
      expect(outcome).toMatchObject({ type: "failed", fault: { code: "output_invalid" } });
      expect(calls).toMatchObject([{ items, outcome: { type: "failed", code: "output_invalid" } }]);
    }
  });

  test("a stream whose effect depends on its input waits for a decision only if it changes something", async () => {
    for (const [n, type] of [
      [5, "completed"],
      [12, "waiting"],
    ] as const) {
      const { records } = await run(`return (await Array.fromAsync(tools.either({ n: ${n} }))).length;`);
      const { report } = await takeUp(records.slice(0, batch(records, 0).cut));
      expect(report.outcome.type).toBe(type);
    }
  });

  test("streams that a driver has let in are not refused by the next one, which has fewer places", async () => {
    const { records } = await run(`
      const all = [20, 30, 10].map((n) => tools.rows({ n })[Symbol.asyncIterator]());
      let sum = 0;
      for (;;) {
        const read = await Promise.all(all.map((rows) => rows.next()));
        for (const { value } of read) sum += value?.i ?? 0;
        if (read.every(({ done }) => done)) return sum;
      }`);
    const cut = cutsWhere(records, ({ calls }) => calls.size === 3 && calls.get(3)?.streamed !== undefined)[0] ?? 0;
    const [header, ...others] = records.slice(0, cut);
    if (header?.type !== "header") throw new Error("The first record is the header.");
    const narrow = { ...header, limits: { ...header.limits, concurrentCalls: 1 } };
    const { report } = await takeUp([narrow, ...others]);
    expect(report.outcome).toEqual({ type: "completed", value: 190 + 435 + 45 });
  });
}

/** What must be the same however often an execution was stopped. How many items of a stream that is left were on their way is not. */
function factsOf({ outcome, logs, calls, usage, notes }: Report) {
  const lines = calls.map(({ callId, tool, items, outcome: ended }) => {
    const isLeft = ended.type === "value" && ended.shape.includes("not read to its end");
    return [callId, tool, ended.type, "code" in ended ? ended.code : "", isLeft ? "left" : items];
  });
  lines.sort(([one], [other]) => Number(one) - Number(other));
  const bytes = calls.reduce((sum, line) => sum + line.bytes, 0);
  return { outcome, logs: logs.text, lines, notes, isCounted: bytes === usage.bytesIn };
}

/** Where a batch of items is handed to the program, and the call that it is of. */
function batch(records: readonly JournalRecord[], index: number) {
  const cut = cutsWhere(records, (_, last) => handsItems(last))[index] ?? 0;
  const [{ id = 0, streamed: { items = 0 } = {} } = {}] = stateAfter(records, cut).calls.values();
  return { cut, id, items };
}

/** Ids of the calls whose results the program has got. */
function answered(records: readonly JournalRecord[]): ReadonlySet<string> {
  return new Set(pastTurns(records).flatMap(({ event }) => (event.kind === "answer" ? [String(event.id)] : [])));
}

function asksForOne({ commands }: Extract<JournalRecord, { type: "turn" }>): boolean {
  return commands.some((text) => text.startsWith('{"kind":"next"'));
}
