import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Language } from "../../bridge/frames.ts";
import { type Approve, createRuntime, defineTool, type Report, type Runtime, type Tool } from "../../src/index.ts";
import { createMemoryJournal, type Journal, type JournalRecord } from "../../src/journal/index.ts";
import { pastTurns } from "../../src/executions/from-journal/read-turns.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { ALL_TESTS } from "../support/all-tests.ts";
import { collectGarbage } from "../support/collect-garbage.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { MIXED_CALLS, MIXED_PROGRAMS } from "./mixed-programs.ts";
import { journalWith } from "../support/journal-with.ts";

const ID = "mixed";
/** Of the cuts, the quick run makes one in so many. */
const STEP = ALL_TESTS ? 1 : 120;
/** Executions that are taken up at once. */
const AT_ONCE = 4;

/**
 * After so many cuts garbage is collected. V8 keeps the contexts of guests that have ended until then, and they are too small
 * to make it begin by itself; but each turn of another guest takes time for each of them.
 */
const CUTS_OF_GARBAGE = 50;

/** Tools that note the calls whose handlers run. Each gives the same result whenever it is called. */
function makeTools(runs: string[]): readonly Tool[] {
  const input = z.object({ n: z.number() });
  const common = {
    description: "d",
    inputSchema: input,
    outputSchema: z.number(),
    allowedCallers: ["programmatic"],
  } as const;
  const handler =
    (factor: number) =>
    ({ n }: z.infer<typeof input>, { callId }: { readonly callId: string }) => {
      runs.push(callId);
      return factor * n;
    };
  return [
    defineTool({ ...common, name: "read", effect: "read", execute: handler(1) }),
    defineTool({ ...common, name: "put", effect: "idempotent", execute: handler(2) }),
    defineTool({ ...common, name: "pay", effect: "write", approval: "always", execute: handler(3) }),
    defineTool({ ...common, name: "refund", effect: "write", approval: "always", execute: handler(4) }),
    defineTool({ ...common, name: "ask", effect: "read", execute: "client" }),
    defineTool({ ...common, name: "fails", effect: "read", execute: () => Promise.reject(new Error("always")) }),
  ];
}

const approve: Approve = ({ tool }) => (tool === "refund" ? "later" : true);

/** Answers all that an execution waits for, as people and clients would, until it has ended. */
async function untilEnded(runtime: Runtime, first: Report): Promise<Report> {
  let report = first;
  while (report.outcome.type === "waiting") {
    const { approvals, calls } = report.outcome;
    const decisions = approvals.map(({ callId, tool, input, hold }) => {
      const isDenied = tool === "refund" && (input as { readonly n: number }).n === 3;
      return [callId, { allow: !isDenied, by: "ann", hold }] as const;
    });
    const results = calls.map(({ callId, input }) => {
      const { n } = input as { readonly n: number };
      return [callId, n === 5 ? { error: "There is none." } : { value: n }] as const;
    });
    report = await runtime.execution(ID).resume({
      decisions: Object.fromEntries(decisions),
      results: Object.fromEntries(results),
    });
  }
  return report;
}

/** What must be the same however often an execution was stopped. */
function factsOf({ outcome, logs, calls, usage }: Report) {
  const lines = calls.map(({ callId, tool, outcome: ended }) => [
    callId,
    tool,
    ended.type,
    "code" in ended ? ended.code : "",
  ]);
  lines.sort(([one], [other]) => Number(one) - Number(other));
  return { outcome, logs: logs.text, lines, bytes: usage.bytesIn, seen: usage.bytesSeen };
}

/** A journal that holds the first records of an execution, as its host left it when it died. */
async function journalOf(records: readonly JournalRecord[]): Promise<Journal> {
  const journal = await journalWith(records);
  // The dead host's leases have ended.
  return { ...journal, find: async (id) => ({ ...(await journal.find(id)), lease: { driver: "dead", until: 0 } }) };
}

/** Ids of the calls whose results the program has got. */
function madeCalls(records: readonly JournalRecord[]): ReadonlySet<string> {
  return new Set(pastTurns(records).flatMap(({ event }) => (event.kind === "answer" ? [String(event.id)] : [])));
}

const SANDBOXES: readonly (readonly [Language, () => Sandbox, boolean])[] = [
  ["javascript", createMemorySandbox, false],
  ["python", createForkedPythonSandbox, PYTHON.missing],
];

describe.each(SANDBOXES)("%s", (language, makeSandbox, isMissing) => {
  test.skipIf(isMissing)(
    `a program of ${MIXED_CALLS} mixed calls that is stopped after any of its records ends as if it had not been`,
    { timeout: 900_000 },
    async () => {
      const sandbox = makeSandbox();
      const options = { sandbox, approve, logger: { error: () => {} }, limits: { wallMs: 600_000 } } as const;
      const journal = createMemoryJournal();
      const firstRuns: string[] = [];
      let expected: Report;
      {
        await using runtime = await createRuntime({ ...options, tools: makeTools(firstRuns), journal });
        const program = MIXED_PROGRAMS[language] ?? "";
        expected = await untilEnded(runtime, await runtime.execute(program, { id: ID, language }));
      }
      expect(expected.outcome.type, JSON.stringify(expected.outcome)).toBe("completed");
      expect(expected.usage.calls).toBe(MIXED_CALLS);
      const records = await Array.fromAsync(journal.read(ID));
      expect(records.filter(({ type }) => type === "outcome")).toHaveLength(1);

      const stopAfter = async (count: number) => {
        if (count % CUTS_OF_GARBAGE === 0) collectGarbage();
        const kept = records.slice(0, count);
        const runs: string[] = [];
        const copy = await journalOf(kept);
        await using runtime = await createRuntime({ ...options, tools: makeTools(runs), journal: copy });
        const report = await untilEnded(runtime, await runtime.execution(ID).resume());
        expect(factsOf(report), `after record ${count}`).toEqual(factsOf(expected));
        const all = await Array.fromAsync(copy.read(ID));
        const made = madeCalls(kept);
        const again = [runs.filter((call) => made.has(call)), runs.length - new Set(runs).size];
        const outcomes = all.filter(({ type }) => type === "outcome").length;
        expect([outcomes, ...again], `after record ${count}`).toEqual([1, [], 0]);
      };
      const counts = Array.from({ length: Math.ceil((records.length - 1) / STEP) }, (_, index) => 1 + index * STEP);
      const next = counts.values();
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          for (const count of next) await stopAfter(count);
        }),
      );
      process.stdout.write(`${language}: ${records.length} records, stopped after ${counts.length} of them\n`);
      await sandbox[Symbol.asyncDispose]();
    },
  );
});
