import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ApprovalRequest } from "../../../src/gate/approve/approval.ts";
import type { Grant } from "../../../src/gate/approve/grant-terms.ts";
import type { Policy } from "../../../src/gate/approve/policy.ts";
import { rememberedIn } from "../../../src/gate/approve/remembered.ts";
import type { CallRecord, DecisionRecord, JournalRecord } from "../../../src/journal/record.ts";
import { recordedTool } from "../../../src/gate/header-base.ts";
import { makeTool, openSession, ROOMY } from "../open-session.ts";
import { ALL_TESTS, runs } from "../../support/all-tests.ts";

/*
 * Calls under random policies and grants, against the rules as they are written here: in whole cents, with a list of what
 * was granted, and without anything of the gate's own code.
 */

interface Made {
  readonly tool: "pay" | "send";
  readonly cents: number;
  /** What the approver answers if it is asked. */
  readonly allow: boolean;
  readonly grant: { readonly calls?: number; readonly cents?: number } | undefined;
  /** Whether it is made together with the next call. */
  readonly together: boolean;
  /** Whether another driver goes on after it. */
  readonly takenUp: boolean;
}

const cents = fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.constantFrom(-100, 0, 10, 20, 30));
const made: fc.Arbitrary<Made> = fc.record({
  tool: fc.constantFrom("pay", "send"),
  cents,
  allow: fc.constantFrom(true, true, true, false),
  grant: fc.option(
    fc
      .record({ calls: fc.integer({ min: 1, max: 3 }), cents: fc.integer({ min: 0, max: 3000 }) }, { requiredKeys: [] })
      .filter(({ calls, cents: sum }) => calls !== undefined || sum !== undefined),
    { nil: undefined, freq: 5 },
  ),
  together: fc.boolean(),
  takenUp: fc.boolean(),
});

const grantOf = ({ calls, cents: sum }: NonNullable<Made["grant"]>): Grant => ({
  calls,
  sums: sum === undefined ? undefined : { "/amount": sum / 100 },
});

/** The policy under test: payments above 25 are refused, those of less than 1 need no approval. */
const policy: Policy = ({ input }) => {
  const { amount } = input as { amount: number };
  if (amount > 25) return { deny: "too much" };
  return amount >= 0 && amount < 1 ? "allow" : "ask";
};

interface Open {
  readonly tool: string;
  readonly origin: string;
  calls: number;
  cents: number;
}

/** What the rules say of a call, given what is left: refused, free, allowed by that grant, or asked about. */
function verdictOf(one: Made, open: readonly Open[]): "refused" | "free" | "asked" | Open {
  if (one.cents > 2500) return "refused";
  if (one.cents >= 0 && one.cents < 100) return "free";
  const fits = (grant: Open) =>
    grant.tool === one.tool &&
    grant.calls >= 1 &&
    (grant.cents === Number.POSITIVE_INFINITY || (one.cents >= 0 && one.cents <= grant.cents));
  return open.find(fits) ?? "asked";
}

let total = 0;
/** Grants of one execution. */
const MOST = 10;
const counts = { refused: 0, free: 0, asked: 0, oneMore: 0, granted: 0, takenUp: 0, together: 0 };

test(
  "calls under policies and grants, over drivers and at once, are treated as the rules say that are written apart",
  { timeout: 600_000 },
  async () => {
    const property = fc.asyncProperty(fc.array(made, { minLength: 60, maxLength: 80, size: "max" }), async (all) => {
      const ran = new Set<string>();
      const asked = new Set<string>();
      const tools = (["pay", "send"] as const).map((name) =>
        makeTool({ name, effect: "write", execute: (_, { callId }) => ran.add(callId) }),
      );
      const approve = ({ callId }: ApprovalRequest) => {
        asked.add(callId);
        const { allow = false, grant } = all[Number(callId)] ?? {};
        return { allow, by: `p${callId}`, ...(allow && grant ? { grant: grantOf(grant) } : {}) };
      };
      const journal: JournalRecord[] = [];
      const inputOf = ({ cents: given }: Made) => ({ amount: given / 100 });
      const openNext = () => {
        const calls = new Map<string, { ruling?: CallRecord; decision?: DecisionRecord }>();
        const remembered = journal.flatMap((record) => {
          if (record.type === "call")
            calls.set(record.call, {
              ...calls.get(record.call),
              ...(record.decision === "held" && { ruling: record }),
            });
          if (record.type !== "decision") return [];
          const call = calls.get(record.call) ?? {};
          call.decision ??= record;
          calls.set(record.call, call);
          const one = all[Number(record.call)]!;
          return rememberedIn(
            [record],
            () => ({ tool: one.tool, inputText: JSON.stringify(inputOf(one)), ...call }),
            tools.map(recordedTool),
          );
        });
        return openSession({
          tools,
          approve,
          policies: [policy],
          limits: { ...ROOMY, calls: 10_000 },
          append: async (record) => void journal.push(record),
          past: { calls: 0, openCalls: 0, inputBytes: 0, resultBytes: 0, lines: [], remembered },
        });
      };
      let { call, session } = openNext();
      const open: Open[] = [];
      let batch: number[] = [];
      let answers: Promise<unknown>[] = [];
      for (const [index, one] of all.entries()) {
        total += 1;
        batch.push(index);
        answers.push(call(inputOf(one), { tool: one.tool, callId: String(index) }));
        if (one.together && index < all.length - 1) continue;
        await Promise.all(answers);
        checkBatch(all, batch, { asked, ran, journal, open });
        [batch, answers] = [[], []];
        if (!one.takenUp) continue;
        counts.takenUp += 1;
        session.close();
        ({ call, session } = openNext());
      }
      session.close();
    });
    await fc.assert(property, { numRuns: runs(160) });
    expect(total).toBeGreaterThanOrEqual(runs(10_000));
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(ALL_TESTS ? 200 : 0);
  },
);

interface Seen {
  readonly asked: ReadonlySet<string>;
  readonly ran: ReadonlySet<string>;
  readonly journal: readonly JournalRecord[];
  readonly open: Open[];
}

/** A batch of calls at once counts in the order in which the journal decides them. */
function checkBatch(all: readonly Made[], batch: readonly number[], { asked, ran, journal, open }: Seen): void {
  if (batch.length > 1) counts.together += 1;
  const mine = new Set(batch.map(String));
  const decided = journal.filter(
    (record): record is DecisionRecord => record.type === "decision" && mine.has(record.call),
  );
  const withoutDecision = batch.filter((index) => !decided.some(({ call }) => call === String(index)));
  for (const index of withoutDecision) {
    const verdict = verdictOf(all[index]!, []);
    expect([index, verdict]).toEqual([index, verdict === "refused" ? "refused" : "free"]);
    expect(ran.has(String(index))).toBe(verdict === "free");
    expect(asked.has(String(index))).toBe(false);
    counts[verdict as "refused" | "free"] += 1;
  }
  for (const record of decided) {
    const one = all[Number(record.call)]!;
    const { call } = record;
    const verdict = verdictOf(one, open);
    if (record.granted) {
      // A grant that the rules find open, and it is the first that fits.
      expect(verdict).toMatchObject({ origin: record.granted.call });
      const grant = verdict as Open;
      grant.calls -= 1;
      grant.cents -= one.cents;
      expect(record.by).toBe(`p${grant.origin}`);
      expect(ran.has(call)).toBe(true);
      counts.granted += 1;
      continue;
    }
    // Calls at the same time may all have been asked about before one of them was granted more.
    if (batch.length === 1) expect(verdict).toBe("asked");
    expect(asked.has(call)).toBe(true);
    // With one grant more than an execution may have, the approver denies the call.
    const isOneMore = one.allow && one.grant !== undefined && open.length === MOST;
    expect(ran.has(call)).toBe(one.allow && !isOneMore);
    counts[isOneMore ? "oneMore" : "asked"] += 1;
    if (!one.allow || !one.grant || isOneMore) continue;
    const { calls = Number.POSITIVE_INFINITY, cents: sum = Number.POSITIVE_INFINITY } = one.grant;
    open.push({ tool: one.tool, origin: call, calls, cents: sum });
  }
}
