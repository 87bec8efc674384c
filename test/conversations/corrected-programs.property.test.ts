import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { scriptedModel, type ScriptedTurn } from "../../src/runtime/testing.ts";
import { ALL_TESTS, makeTool, runtimeWith } from "../support/index.ts";

const DONE = { text: "Done." };

/** A program, by what it pays, and whether it fails then. */
interface Paying {
  readonly pays: readonly number[];
  readonly fails: boolean;
}

/** The programs of a turn, and whether another process goes on after it. */
interface Turn {
  readonly programs: readonly Paying[];
  readonly moves: boolean;
}

const turn = fc.record({
  programs: fc.array(fc.record({ pays: fc.array(fc.nat(2), { maxLength: 4 }), fails: fc.boolean() }), {
    minLength: 1,
    maxLength: 3,
  }),
  moves: fc.boolean(),
});

/** What is paid: a payment of a program that failed stands for one of the turns after it, until a program has completed with it. */
function paidBy(turns: readonly Turn[]): readonly number[] {
  const paid: number[] = [];
  let free: readonly { readonly n: number; readonly from: number }[] = [];
  for (const [at, { programs }] of turns.entries())
    for (const { pays, fails } of programs) {
      const own: (typeof free)[number][] = [];
      for (const n of pays) {
        const given = free.find((one) => one.n === n && one.from <= at);
        free = free.filter((one) => one !== given);
        own.push(given ?? { n, from: at + 1 });
        if (!given) paid.push(n);
      }
      if (fails) free = [...free, ...own];
    }
  return paid;
}

async function talk(turns: readonly Turn[]): Promise<readonly number[]> {
  const paid: number[] = [];
  const pay = makeTool({
    name: "pay",
    inputSchema: z.object({ n: z.number() }),
    effect: "write",
    execute: ({ n }) => paid.push(n),
  });
  const journal = createMemoryJournal();
  const script = turns.flatMap(({ programs, moves }): ScriptedTurn[] => [
    {
      programs: programs.map(
        ({ pays, fails }) =>
          `for (const n of ${JSON.stringify(pays)}) await tools.pay({ n }); ${fails ? "typo()" : ""}`,
      ),
    },
    ...(moves ? [DONE] : []),
  ]);
  const model = scriptedModel([...script, DONE]);
  const rests = turns.filter(({ moves }) => moves).length;
  for (let said = 0; said <= rests; said += 1) {
    const runtime = await runtimeWith([pay], { journal });
    await runtime.execution("talk").send("Pay", { model });
  }
  return paid;
}

/** A turn of programs that pay these, and fail if the last of them is `fails`. */
const paying = (...programs: readonly (readonly (number | "fails")[])[]): Turn => ({
  programs: programs.map((one) => ({
    pays: one.filter((pay) => pay !== "fails"),
    fails: one.includes("fails"),
  })),
  moves: false,
});
const moved = (one: Turn): Turn => ({ ...one, moves: true });

/** Two programs that failed in one turn, with what comes after them. */
const BOTH = paying([1, "fails"], [2, "fails"]);
/** A program that failed, of which the next one uses a part, with whether others follow in another process. */
const HALF = [paying([1, 2, "fails"]), paying([1]), paying([1, 2])];
const EXAMPLES: [Turn[]][] = [
  [BOTH, paying([1], [2])],
  [BOTH, paying([2], [1])],
  [BOTH, paying([1]), paying([2])],
  [BOTH, paying([1, "fails"], [2]), paying([1])],
  [BOTH, paying(["fails"], ["fails"]), paying([1], [2])],
  [BOTH, paying([1, 2])],
  HALF,
  [...HALF, paying([1, 2])],
  [...HALF.slice(0, 1), ...HALF.slice(1).map(moved)],
  [...HALF.slice(0, 2), moved(paying([1, 2])), paying([1, 2])],
  [moved(paying([2, "fails"])), paying([2])],
].map((turns) => [turns]);

test("of what programs that failed have paid, nothing is paid again, and nothing stands for two payments", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 5 }), async (turns) => {
      expect(await talk(turns)).toEqual(paidBy(turns));
    }),
    { numRuns: ALL_TESTS ? 300 : 20, examples: EXAMPLES },
  );
});
