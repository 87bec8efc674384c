import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Journal } from "../../src/journal/journal.ts";
import { createMemoryJournal } from "../../src/journal/memory-journal.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import { jsonSchema, type Schema } from "../../src/tools/schema.ts";
import type { CallContext, Caller, Effect, Tool } from "../../src/tools/tool.ts";
import { ToolSet } from "../../src/tools/tool-set.ts";
import { stepsOf } from "./open-session.ts";
import { runs } from "../support/all-tests.ts";
import { scriptedGuest, scripts } from "./scripted-guest.ts";
import { throws } from "../support/failing.ts";

/** Names of tools; none contains another, so that a name in a text is that name. */
const NAMES = ["crm.findPeople", "crm.findPerson", "billing.list", "billing.sum", "mail.send", "mail.sent", "weather"];
/** Names that no tool has. */
const NO_NAMES = [
  "mail.sen",
  "weathe",
  "MAIL.SEND",
  "mail",
  "mail.",
  "__proto__",
  "constructor",
  "toString",
  "x.y",
  " ",
];

const SCHEMAS: readonly Schema[] = [
  z.looseObject({}),
  z.object({ id: z.string() }),
  z.object({ n: z.number().default(1) }),
  jsonSchema({ type: "object", properties: { id: { type: "string" } }, required: ["id"] }),
];

interface Run {
  readonly tool: Tool;
  readonly context: CallContext;
  /** What was in the journal when the handler began. */
  readonly journalled: readonly JournalRecord[];
}

const toolParts = fc.record({
  name: fc.constantFrom(...NAMES),
  allowedCallers: fc.constantFrom<readonly Caller[]>(["direct"], ["programmatic"], ["direct", "programmatic"]),
  effect: fc.constantFrom<Effect>("read", "idempotent", "write"),
  inputSchema: fc.constantFrom(...SCHEMAS),
  approval: fc.constantFrom("never" as const, "never" as const, "always" as const),
  concurrency: fc.constantFrom(1, 2, 100),
  result: fc.constantFrom<() => unknown>(
    () => ({ rows: [1, 2, 3] }),
    () => undefined,
    async () => "later",
    () => Symbol("5"),
    throws("failed"),
  ),
});

const cases = fc.record({
  parts: fc.uniqueArray(toolParts, { selector: ({ name }) => name, maxLength: NAMES.length }),
  turns: scripts([...NAMES, ...NAMES, ...NO_NAMES]),
  calls: fc.constantFrom(0, 2, 1000),
  approves: fc.boolean(),
});

/** A journal that also hands out what has been appended, once it has been. */
function watchedJournal(): { readonly journal: Journal; readonly appended: JournalRecord[] } {
  const journal = createMemoryJournal();
  const appended: JournalRecord[] = [];
  const append: Journal["append"] = async (execution, expected, records) => {
    const head = await journal.append(execution, expected, records);
    appended.push(...records);
    return head;
  };
  return { journal: { ...journal, append }, appended };
}

type Case = typeof cases extends fc.Arbitrary<infer Value> ? Value : never;

/** Runs a scripted guest against random tools, and says everything that happened. */
async function runCase({ parts, turns, calls, approves }: Case) {
  const runs: Run[] = [];
  const heard: string[] = [];
  const { journal, appended } = watchedJournal();
  const tools = parts.map(({ result, ...options }): Tool => {
    const tool = defineTool({
      ...options,
      description: "Does it",
      execute: (_, context) => {
        runs.push({ tool, context, journalled: [...appended] });
        return result();
      },
    });
    return tool;
  });
  const sandbox = createMemorySandbox({ guest: () => scriptedGuest(turns, heard) });
  await using runtime = await createRuntime({ tools, sandbox, journal, limits: { calls }, approve: () => approves });
  const report = await runtime.execute("return 1");
  const asked = new Set(turns.flat().flatMap((move) => (move.kind === "call" ? [move.tool] : [])));
  return { runs, heard, appended, report, declarations: runtime.declarations(), tools, asked };
}

type Happened = Awaited<ReturnType<typeof runCase>>;

function expectRunsAllowed({ runs, report }: Happened): void {
  for (const { tool, context, journalled } of runs) {
    expect(tool.allowedCallers).toContain("programmatic");
    expect(context).toMatchObject({ caller: "programmatic", execution: report.execution });
    const allowed = {
      type: "call",
      call: context.callId,
      tool: tool.name,
      caller: "programmatic",
      decision: "allowed",
    };
    expect(journalled).toContainEqual(expect.objectContaining(allowed));
    const steps = stepsOf(journalled).filter((step) => step.startsWith(`${context.callId} `));
    const expected = tool.approvable ? ["held", "approved", "allowed"] : ["allowed"];
    expect(steps).toEqual(expected.map((step) => `${context.callId} ${step}`));
  }
  expect(new Set(runs.map(({ context }) => context.callId)).size).toBe(runs.length);
}

/** What the guest hears of a call whose handler ran is in the journal as answered, with the same success. */
function expectAnswersJournalled({ runs, heard, appended }: Happened): void {
  const answered = new Map(appended.flatMap((record) => (record.type === "answered" ? [[record.call, record]] : [])));
  const started = new Set(runs.map(({ context }) => context.callId));
  expect([...answered.keys()].every((call) => started.has(call))).toBe(true);
  for (const text of heard) {
    const { kind, id, ok } = JSON.parse(text.split("\n")[0] ?? "") as { kind: string; id: number; ok?: boolean };
    if (kind === "answer" && started.has(String(id))) expect(answered.get(String(id))).toMatchObject({ ok });
  }
}

/** The program and the model after it are told of no tool for other callers, but that there is none of a name they used. */
function expectNothingTold({ heard, report, declarations, tools, asked }: Happened): void {
  const visible = new ToolSet(tools.filter(({ allowedCallers }) => allowedCallers.includes("programmatic")));
  const hidden = tools.flatMap(({ name }) => (visible.get(name) ? [] : [name]));
  const hints = report.output.text.match(/Did you mean[^\n]*/g)?.join() ?? "";
  for (const name of hidden)
    expect(declarations + hints + (asked.has(name) ? "" : report.output.text)).not.toContain(name);
  for (const text of heard) {
    const [header = "", body = "null"] = text.split("\n");
    const { kind, ok } = JSON.parse(header) as { kind: string; ok?: boolean };
    const told = JSON.parse(body) as { code?: string; tool: string; message: string; tools?: readonly string[] };
    if (kind === "start") expect(told.tools).toEqual(visible.all.map(({ name }) => name));
    if (kind === "answer" && ok === false && !visible.get(told.tool)) {
      const meant = visible.nearestName(told.tool, "programmatic");
      const said = `There is no tool ${JSON.stringify(told.tool)}.`;
      expect(told.code).toBe("tool_unknown");
      // The first ten have hints.
      expect([said, ...(meant === undefined ? [] : [`${said} Did you mean ${meant}?`])]).toContain(told.message);
    } else {
      for (const name of hidden) expect(text).not.toContain(name);
    }
  }
}

test("whatever a guest sends, no handler runs without a journal entry that allows its caller, and no tool for other callers runs or is named", async () => {
  const seen = { runs: 0, allowed: 0, held: 0, answered: 0, refused: 0, broken: 0, hints: 0, forgedNames: 0 };
  const property = fc.asyncProperty(cases, async (one) => {
    const happened = await runCase(one);
    expectRunsAllowed(happened);
    expectNothingTold(happened);
    expectAnswersJournalled(happened);
    const decisions = happened.appended.flatMap((record) => (record.type === "call" ? [record] : []));
    seen.runs += happened.runs.length;
    seen.allowed += decisions.filter(({ decision }) => decision === "allowed").length;
    seen.held += decisions.filter(({ decision }) => decision === "held").length;
    seen.answered += happened.appended.filter(({ type }) => type === "answered").length;
    seen.refused += decisions.filter(({ decision }) => decision === "refused").length;
    seen.forgedNames += decisions.filter(({ code, tool }) => code === "tool_unknown" && NAMES.includes(tool)).length;
    seen.broken += happened.report.outcome.type === "crashed" ? 1 : 0;
    seen.hints += happened.report.output.text.includes("Did you mean") ? 1 : 0;
  });
  await fc.assert(property, { numRuns: runs(400) });
  await fc.assert(property, { numRuns: 200, seed: 5 });
  // Scripts that never got this far would show nothing. Those of the seed do.
  expect(Object.entries(seen).filter(([, count]) => count === 0)).toEqual([]);
});
