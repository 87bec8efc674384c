import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { createRuntime, type Report, type Runtime } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { replay } from "../../src/executions/replay.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { ALL_TESTS, throws } from "../support/index.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { type Group, isChange, javascriptOf, keyOf, pythonOf, type Step, World } from "./corrected-world.ts";

interface Way {
  readonly language: "javascript" | "python";
  readonly sandbox: Sandbox;
  readonly write: typeof javascriptOf;
  readonly pairs: number;
}

/** So many pairs are of a seed. In `make test-all` others come before them. */
const OF_SEED = 5;

const WAYS: readonly Way[] = [
  { language: "javascript", sandbox: createMemorySandbox(), write: javascriptOf, pairs: ALL_TESTS ? 200 : OF_SEED },
  ...(PYTHON.missing
    ? []
    : [
        {
          language: "python" as const,
          sandbox: createForkedPythonSandbox(),
          write: pythonOf,
          pairs: ALL_TESTS ? 100 : OF_SEED,
        },
      ]),
];

afterAll(async () => {
  for (const { sandbox } of WAYS) await sandbox[Symbol.asyncDispose]?.();
});

const name = fc.constantFrom("a", "b", "c");
const read: fc.Arbitrary<Step> = fc.oneof(
  name.map((one): Step => ["get", { name: one }]),
  name.map((one): Step => ["rows", { name: one }]),
);
const change: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ name, by: fc.integer({ min: 1, max: 2 }) }).map((input): Step => ["add", input]),
  fc.record({ name, to: fc.integer({ min: 0, max: 2 }) }).map((input): Step => ["set", input]),
);

/** Reads at once, or one change: changes at once have no order. */
const group: fc.Arbitrary<Group> = fc.oneof(
  { weight: 3, arbitrary: fc.array(read, { minLength: 1, maxLength: 3 }) },
  { weight: 2, arbitrary: change.map((one) => [one]) },
);

/**
 * A right program, and one that fails. The one that fails does what the right one does up to some place. It may lack reads
 * after its last change (what was changed cannot be read any more as it was before), and may read more before it begins.
 */
const pair = fc
  .record({
    right: fc.array(group, { minLength: 1, maxLength: 8 }),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    kept: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
    before: fc.array(read, { maxLength: 3 }),
    isReversed: fc.boolean(),
  })
  .map(({ right, part, kept, before, isReversed }) => {
    const made = right.slice(0, Math.round(part * right.length));
    const last = made.findLastIndex((one) => one.some(isChange));
    const failed = made.filter((_, index) => index <= last || kept[index]);
    const written = failed.map((one) => one.map((step) => (isReversed ? reversed(step) : step)));
    return { right, failed: [...(before.length > 0 ? [before] : []), ...written] };
  });

/** The same call, with its fields in the other order. */
function reversed([tool, input]: Step): Step {
  return [tool, Object.fromEntries(Object.entries(input).toReversed())];
}

/** The pair with a number in each change, so that no two are equal. */
function numbered(groups: readonly Group[]): readonly Group[] {
  let id = 0;
  return groups.map((steps) =>
    steps.map((step): Step => {
      if (!isChange(step)) return step;
      id += 1;
      return [step[0], { ...step[1], id }];
    }),
  );
}

async function open(world: World, { sandbox }: Way, journal: Journal): Promise<Runtime> {
  return createRuntime({ tools: world.tools, sandbox, journal, approve: () => "later", logger: { error: () => {} } });
}

/** What the right program gives alone, and what it leaves. */
async function alone(right: readonly Group[], way: Way): Promise<{ readonly value: unknown; readonly world: World }> {
  const world = new World();
  await using runtime = await open(world, way, createMemoryJournal());
  const report = await runtime.execute(way.write(right, "return"), { language: way.language });
  return { value: valueOf(report), world };
}

function valueOf({ outcome }: Report): unknown {
  expect(outcome.type).toBe("completed");
  return outcome.type === "completed" ? outcome.value : undefined;
}

/** Bound for all pairs of a test, each of which begins engines. */
const ALL_PAIRS_MS = 300_000;

describe.each(WAYS)("in $language", (way) => {
  const { language, write, pairs } = way;

  test(
    `${pairs} pairs of a program that fails and a corrected one: no change is made twice, and the value is that of the right program alone`,
    async () => {
      let [handlers, needed] = [0, 0];
      const property = fc.asyncProperty(pair, async ({ failed, right }) => {
        const world = new World();
        const journal = createMemoryJournal();
        await using runtime = await open(world, way, journal);
        const first = await runtime.execute(write(failed, "throw"), { language });
        expect(first.outcome.type).toBe("failed");
        const before = world.handlers;
        const second = await runtime.execute(write(right, "return"), { language, corrects: first.execution });
        const expected = await alone(right, way);
        expect(valueOf(second)).toEqual(expected.value);
        expect(world.numbers).toEqual(expected.world.numbers);
        expect(world.made).toEqual(expected.world.made);
        // Each call was either made or given again.
        const { reused = 0, calls } = second.usage;
        expect(reused + world.handlers - before).toBe(calls);
        handlers += world.handlers - before;
        needed += expected.world.handlers;
        // Its journal is complete: it replays without the other one.
        const records = await Array.fromAsync(journal.read(second.execution));
        expect(await replay(() => records, way.sandbox, new AbortController().signal)).toEqual({ type: "identical" });
      });
      if (pairs > OF_SEED) await fc.assert(property, { numRuns: pairs });
      // Few draws may leave out what is counted. Those of the seed do not.
      await fc.assert(property, { numRuns: OF_SEED, seed: 5 });
      expect(handlers).toBeLessThan(needed);
    },
    ALL_PAIRS_MS,
  );

  test(
    `${pairs} pairs whose hosts die between: no change is made twice, and the value is that of the right program alone`,
    async () => {
      let [deaths, asked] = [0, 0];
      const points = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 3 });
      const property = fc.asyncProperty(pair, points, async ({ right: plain, failed: plainFailed }, appends) => {
        const right = numbered(plain);
        // The changes of the program that fails are the first ones of the right program.
        const failed = numbered(plainFailed);
        const world = new World();
        const journal = createMemoryJournal();
        await using runtime = await open(world, way, journal);
        const { execution: after } = await runtime.execute(write(failed, "throw"), { language });
        const id = "corrected";
        const program = write(right, "return");
        for (const point of appends) {
          const isDead = await dyingAfter(journal, point, async (mortal) => {
            await using host = await open(world, way, mortal);
            await host.execute(program, { language, corrects: after, id: id }).catch(() => {});
          });
          deaths += Number(isDead);
        }
        await using last = await open(world, way, withoutLeases(journal));
        let report = await last.execute(program, { language, corrects: after, id: id });
        while (report.outcome.type === "waiting") {
          const decisions = report.outcome.approvals.map(({ callId, tool, input, why, hold }) => {
            expect(why).toBe("outcome_unknown");
            asked += 1;
            const done = world.results.get(keyOf([tool, input] as unknown as Step));
            return [callId, { ...(done === undefined ? { allow: true } : { done: { value: done } }), hold }] as const;
          });
          report = await last.execution(id).resume({ decisions: Object.fromEntries(decisions) });
        }
        const expected = await alone(right, way);
        expect(valueOf(report)).toEqual(expected.value);
        expect(world.numbers).toEqual(expected.world.numbers);
        for (const [key, times] of world.made) if (key.startsWith('["add"')) expect(times).toBe(1);
        const records = await Array.fromAsync(journal.read(id));
        const taken = records.flatMap((one) => (one.type === "earlier" ? [JSON.stringify(one.earlier)] : []));
        expect(taken).toEqual([...new Set(taken)]);
        expect(await replay(() => records, way.sandbox, new AbortController().signal)).toEqual({ type: "identical" });
      });
      if (pairs > OF_SEED) await fc.assert(property, { numRuns: pairs });
      // Few draws may leave out what is counted. Those of the seed do not.
      await fc.assert(property, { numRuns: OF_SEED, seed: 5 });
      expect(deaths).toBeGreaterThan(OF_SEED / 4);
      if (pairs >= 50) expect(asked).toBeGreaterThan(0);
    },
    ALL_PAIRS_MS,
  );
});

function withoutLeases(journal: Journal): Journal {
  return { ...journal, find: async (id) => ({ ...(await journal.find(id)), lease: { driver: "dead", until: 0 } }) };
}

/** Does work with a journal that takes no records any more after so many appends, as if the host had died. Gives whether it did. */
async function dyingAfter(
  journal: Journal,
  appends: number,
  work: (mortal: Journal) => Promise<void>,
): Promise<boolean> {
  let left = appends;
  const living = withoutLeases(journal);
  const refuse = throws("The host has died.");
  await work({
    ...living,
    create: async (...given) => (left > 0 ? living.create(...given) : refuse()),
    append: async (...given) => {
      left -= 1;
      return left >= 0 ? living.append(...given) : refuse();
    },
    renew: async () => 0,
  });
  return left < 0;
}
