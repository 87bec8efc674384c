import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contextsOf, costOf, factorsOf, spentBy } from "../../../src/comparison/accounting/accounting.ts";
import {
  ENVELOPE_TOKENS,
  type Exchange,
  exchangeOf,
  regroup,
  sum,
} from "../../../src/comparison/accounting/count-exchange.ts";
import { PRICES, priceOf, REFERENCE_PRICE } from "../../../src/models/prices.ts";

/** Two calls in one turn, then one that needed their answers, then the answer. */
const EXCHANGE: Exchange = {
  instructions: 40,
  definitions: 100,
  question: 10,
  turns: [
    {
      words: 5,
      calls: [
        { written: 20, read: 300 },
        { written: 22, read: 500 },
      ],
    },
    { words: 0, calls: [{ written: 30, read: 1000 }] },
    { words: 15, calls: [] },
  ],
};

const FACTORS = factorsOf(priceOf(PRICES, REFERENCE_PRICE));

describe("accounting", () => {
  test("each turn reads the beginning and all that was written and returned before it", () => {
    expect(contextsOf(EXCHANGE)).toEqual([150, 150 + 5 + 20 + 300 + 22 + 500, 997 + 30 + 1000]);
  });

  test("tokens are those worked out by hand", () => {
    expect(spentBy(EXCHANGE)).toEqual({
      turns: 3,
      input: 150 + 997 + 2027,
      output: 5 + 20 + 22 + 30 + 15,
      peak: 2027,
      definitions: 3 * 140,
      // The first two results are read by two turns, the third by one.
      results: 800 + 1800,
      cacheable: 150 + 997,
    });
  });

  test("cost is that worked out by hand: a read prefix at a tenth, the rest at a quarter more, output fivefold", () => {
    const { uncached, cached } = costOf(spentBy(EXCHANGE), FACTORS);
    expect(uncached).toBe(3174 + 5 * 92);
    expect(cached).toBeCloseTo(150 * 1.25 + (150 * 0.1 + 847 * 1.25) + (997 * 0.1 + 1030 * 1.25) + 5 * 92);
  });

  test("the published case of one small call comes out: 158 and 227 tokens of context and 45 written cost 525", () => {
    const exchange = {
      instructions: 0,
      definitions: 100,
      question: 58,
      turns: [
        { words: 0, calls: [{ written: 35, read: 34 }] },
        { words: 10, calls: [] },
      ],
    };
    const spent = spentBy(exchange);
    expect(spent).toMatchObject({ turns: 2, input: 385, peak: 227 });
    expect(Math.round(costOf(spent, FACTORS).cached)).toBe(525);
  });

  test("one call a turn reads earlier results again and again", () => {
    const sequential = regroup(EXCHANGE, 1);
    expect(contextsOf(sequential)).toEqual([150, 475, 997, 2027]);
    expect(spentBy(sequential).output).toBe(spentBy(EXCHANGE).output);
  });

  test("calls that need each other's answers are never put in one turn", () => {
    expect(regroup(EXCHANGE, 100)).toEqual(EXCHANGE);
  });

  const counts = fc.nat({ max: 10_000 });
  const exchanges = fc.record({
    instructions: counts,
    definitions: counts,
    question: counts,
    turns: fc
      .array(
        fc.record({
          words: counts,
          calls: fc.array(fc.record({ written: counts, read: counts }), { minLength: 1, maxLength: 30 }),
        }),
        { maxLength: 6 },
      )
      .chain((turns) => counts.map((words) => [...turns, { words, calls: [] }])),
  });

  test("however calls are grouped, the last context and all that is written stay the same, and fewer at once cost no less", () => {
    fc.assert(
      fc.property(exchanges, fc.integer({ min: 1, max: 12 }), (exchange, atOnce) => {
        const whole = spentBy(exchange);
        const grouped = spentBy(regroup(exchange, atOnce));
        expect(grouped.output).toBe(whole.output);
        expect(grouped.peak).toBe(whole.peak);
        expect(grouped.input).toBeGreaterThanOrEqual(whole.input);
        expect(spentBy(regroup(exchange, 1)).input).toBeGreaterThanOrEqual(grouped.input);
      }),
    );
  });

  test("input is definitions, results, questions and what was written, each as often as it is read", () => {
    fc.assert(
      fc.property(exchanges, (exchange) => {
        const { input, definitions, results, turns } = spentBy(exchange);
        const written = exchange.turns.map(
          ({ words, calls }, turn) => (turns - 1 - turn) * (words + sum(calls.map((call) => call.written))),
        );
        expect(input).toBe(definitions + results + turns * exchange.question + sum(written));
      }),
    );
  });
});

describe("an exchange", () => {
  const parts = {
    instructions: "Do it.",
    definitions: "[{}]",
    parts: [
      { type: "said", text: "Question?" },
      { type: "words", text: "I shall look." },
      { type: "call", callId: "a", name: "x.y", text: "{}" },
      { type: "call", callId: "b", name: "x.y", text: '{"z":1}' },
      { type: "result", callId: "b", text: "second" },
      { type: "result", callId: "a", text: "1st" },
      { type: "call", callId: "c", name: "p", text: "code" },
      { type: "result", callId: "c", text: "out" },
    ],
    isCached: true,
  } as const;
  const length = (text: string) => text.length;

  test("holds what stands in a request: each call with its own result, with an envelope round either", () => {
    expect(exchangeOf(parts, "42", length)).toEqual({
      instructions: 6,
      definitions: 4,
      question: 9,
      turns: [
        {
          words: 13,
          calls: [
            { written: 3 + 2 + ENVELOPE_TOKENS, read: 3 + ENVELOPE_TOKENS },
            { written: 3 + 7 + ENVELOPE_TOKENS, read: 6 + ENVELOPE_TOKENS },
          ],
        },
        { words: 0, calls: [{ written: 1 + 4 + ENVELOPE_TOKENS, read: 3 + ENVELOPE_TOKENS }] },
        { words: 2, calls: [] },
      ],
    });
  });

  test("of requests that are not kept costs the same with a cache and without", () => {
    const spent = spentBy(exchangeOf({ ...parts, isCached: false }, "42", length));
    expect(spent.cacheable).toBe(0);
    const { cached, uncached } = costOf(spent, { outputFactor: 5, cacheWriteFactor: 1.25, cacheReadFactor: 0.1 });
    expect(cached).toBe(uncached);
    const kept = costOf(spentBy(exchangeOf(parts, "42", length)), {
      outputFactor: 5,
      cacheWriteFactor: 1.25,
      cacheReadFactor: 0.1,
    });
    expect(kept.uncached).toBe(uncached);
    expect(kept.cached).toBeLessThan(uncached);
  });

  test("is undefined if a call has no result", () => {
    expect(() => exchangeOf({ ...parts, parts: parts.parts.slice(0, 3) }, "42", length)).toThrow(
      "call a has no result",
    );
  });
});
