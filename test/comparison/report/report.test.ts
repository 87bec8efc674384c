import { describe, expect, test } from "vitest";
import { adviceText, programsFrom } from "../../../src/comparison/accounting/advice.ts";
import type { Comparison, Mode, ModeMeasure } from "../../../src/comparison/comparison.ts";
import type { Exchange } from "../../../src/comparison/accounting/count-exchange.ts";
import { type BenchReport, type BenchSettings, reportFrom, sweepFrom } from "../../../src/comparison/report/report.ts";
import { reportMarkdown } from "../../../src/comparison/report/report-tables.ts";
import { reportNotes, reportTables } from "../../../src/comparison/report/report-tables.ts";

const SETTINGS: BenchSettings = {
  portcullis: "1.2.3",
  node: "24.0.0",
  encoding: "o200k_base",
  otherEncoding: "cl100k_base",
  envelopeTokens: 10,
  atOnce: 10,
  cutTokens: 2500,
  windowTokens: 200_000,
  pricesOf: "2026-11-20",
  pricedAs: "reference",
};
const SPENT = { turns: 2, input: 100, output: 10, peak: 60, definitions: 40, results: 20, cacheable: 40 };

function measure(mode: Mode, cached: number, changes: Partial<ModeMeasure> = {}): ModeMeasure {
  return {
    mode,
    spent: SPENT,
    spentOther: SPENT,
    cost: { uncached: cached, cached },
    answer: "right",
    fits: true,
    ...changes,
  };
}

function comparison(task: string, direct: number, program: number, changes: Partial<Comparison> = {}): Comparison {
  const modes = [
    measure("direct-parallel", direct),
    measure("programmatic", program / 2),
    measure("programmatic+probe", program),
  ];
  return {
    task,
    question: "?",
    answer: 1,
    calls: 3,
    layers: 1,
    resultBytes: 1000,
    outputBytes: 10,
    wires: [
      { wire: "anthropic", exact: false, modes, ratio: 9 },
      { wire: "openai", exact: true, modes, ratio: direct / program, ratioOther: direct / program / 2 },
    ],
    tools: [],
    notes: [],
    ...changes,
  };
}

function report(comparisons: readonly Comparison[]): BenchReport {
  return reportFrom("2026-11-20", SETTINGS, comparisons, []);
}

describe("a report", () => {
  test("shows losses first, by tokens that are no estimates, and what has no ratio last", () => {
    const none = comparison("huge", 1, 1, {
      wires: [{ wire: "openai", exact: true, modes: [], noRatio: "direct-parallel does not fit" }],
    });
    const wrong = [measure("direct-parallel", 300), measure("programmatic+probe", 100, { answer: "wrong" })];
    const { comparisons } = report([
      none,
      comparison("wrong", 1, 1, {
        wires: [{ wire: "openai", exact: true, modes: wrong, noRatio: "programmatic+probe has a wrong answer" }],
      }),
      comparison("won", 300, 100),
      comparison("lost", 50, 100),
      comparison("even", 100, 100),
    ]);
    expect(comparisons.map(({ task }) => task)).toEqual(["wrong", "lost", "even", "won", "huge"]);
  });

  test("gives the median and the worst over tasks, never a sum, and counts what was lost", () => {
    const all = [
      comparison("a", 50, 100),
      comparison("b", 300, 100),
      comparison("c", 100_000, 1),
      comparison("d", 400, 100),
    ];
    expect(report(all).summary[1]).toEqual({
      wire: "openai",
      exact: true,
      median: 3.5,
      worst: 0.5,
      medianOther: 1.75,
      lost: 1,
      won: 3,
      withoutRatio: 0,
    });
  });

  test("has no median where no task has a ratio", () => {
    const none = comparison("huge", 1, 1, {
      wires: [{ wire: "openai", exact: true, modes: [], noRatio: "does not fit" }],
    });
    expect(report([none]).summary).toEqual([{ wire: "openai", exact: true, lost: 0, won: 0, withoutRatio: 1 }]);
  });

  test("says in its tables what does not fit, what is wrong and what was not checked, in place of a figure or beside it", () => {
    const modes = [
      measure("direct-seq", 5, { fits: false }),
      measure("direct-parallel", 6, { fits: false }),
      measure("direct-truncated", 7, { answer: "wrong", cost: { cached: 7, uncached: 70 } }),
      measure("direct-best-tool", 8, { answer: "unchecked" }),
      measure("programmatic+probe", 9),
    ];
    const wires = [{ wire: "openai" as const, exact: true, modes, noRatio: "direct-parallel does not fit" }];
    const [tokens, costs, uncached] = reportTables(report([comparison("one", 1, 1, { wires })]));
    expect(tokens?.rows[0]?.at(-1)).toBe("direct-parallel does not fit");
    expect(uncached?.rows[0]?.[4]).toBe("70 (wrong)");
    expect(costs?.rows[0]).toEqual([
      "one",
      "does not fit",
      "does not fit",
      "–",
      "7 (wrong)",
      "8 (unchecked)",
      "–",
      "9",
      "–",
    ]);
  });

  test("keeps definitions and results in columns of their own", () => {
    const [tokens] = reportTables(report([comparison("one", 1, 1)]));
    expect(tokens?.head.filter((name) => name === "definitions" || name === "results")).toEqual([
      "definitions",
      "results",
      "definitions",
      "results",
    ]);
  });

  test("is a document whose cells cannot end a row", () => {
    const text = reportMarkdown(report([comparison("a | b\nc", 1, 1, { notes: ["Mind this."] })]));
    expect(text).toContain("| a \\| b c | 3 |");
    expect(text).toContain("- a | b\nc: Mind this.");
    expect(text).toContain("no model was called");
  });

  test("has a note of several tasks once", () => {
    const notes = (task: string, ...own: string[]) => comparison(task, 1, 1, { notes: own });
    expect(reportNotes(report([notes("a", "All.", "Two."), notes("b", "All.", "Two."), notes("c", "All.")]))).toEqual([
      "All.",
      "a, b: Two.",
    ]);
  });

  test("advises on a tool by the task with most of its calls", () => {
    const few = comparison("few", 1, 1, { tools: [{ tool: "x.get", calls: 1, resultTokens: 10, programsFrom: 50 }] });
    const many = comparison("many", 1, 1, {
      tools: [{ tool: "x.get", calls: 100, resultTokens: 900, programsFrom: 2 }],
    });
    expect(report([few, many]).advice).toEqual([
      { tool: "x.get", resultTokens: 900, programsFrom: 2, text: adviceText("x.get", 900, 2) },
    ]);
  });
});

describe("a sweep", () => {
  const points = (...costs: readonly (readonly [rows: number, direct: number, program: number])[]) =>
    sweepFrom(
      "joined",
      costs.map(([rows, direct, program]) => ({ rows, comparison: comparison(`${rows}`, direct, program) })),
    );

  test("crosses on a straight line between two points", () => {
    const sweep = points([1, 20, 100], [2, 60, 100], [4, 140, 100]);
    // With a probe 100, without half of it.
    expect(sweep.breakEvenWithProbe).toBe(3);
    expect(sweep.breakEven).toBe(1.75);
  });

  test("crosses nowhere where direct calls stay cheaper, and at its first point where they never are", () => {
    expect(points([1, 10, 100], [2, 20, 100]).breakEvenWithProbe).toBeUndefined();
    expect(points([3, 200, 100], [4, 300, 100]).breakEvenWithProbe).toBe(3);
  });

  test("does not cross where an answer is wrong or a context does not fit, and shows no cost of that", () => {
    const at = (rows: number, direct: number, changes: Partial<ModeMeasure>) => {
      const modes = [
        measure("direct-parallel", direct, changes),
        measure("programmatic", 50),
        measure("programmatic+probe", 100),
      ];
      return { rows, comparison: comparison(`${rows}`, 1, 1, { wires: [{ wire: "openai", exact: true, modes }] }) };
    };
    const sweep = sweepFrom("joined", [at(4, 120, { fits: false }), at(2, 40, {}), at(3, 110, { answer: "wrong" })]);
    expect(sweep.points.map(({ rows }) => rows)).toEqual([2, 3, 4]);
    expect([sweep.breakEven, sweep.breakEvenWithProbe]).toEqual([undefined, undefined]);
    const table = reportTables(reportFrom("2026-11-20", SETTINGS, [], [sweep]))[0];
    expect(table?.rows.map((row) => [row[2], row.at(-1)])).toEqual([
      ["40", "right"],
      ["110", "WRONG"],
      ["does not fit", "right"],
    ]);
  });

  test("counts the last crossing, where there are several", () => {
    expect(points([1, 120, 100], [2, 80, 100], [4, 120, 100]).breakEvenWithProbe).toBe(3);
  });
});

describe("advice", () => {
  const fixed = { instructions: 0, question: 0 };
  const factors = { outputFactor: 5, cacheWriteFactor: 1.25, cacheReadFactor: 0.1 };
  const end = { words: 10, calls: [] };
  const direct: Exchange = { ...fixed, definitions: 100, turns: [end] };
  const programs: Exchange = {
    ...fixed,
    definitions: 300,
    turns: [{ words: 0, calls: [{ written: 100, read: 50 }] }, end],
  };

  test("programs are advised from the number of calls on that costs more than one", () => {
    const from = programsFrom({ written: 20, read: 100 }, direct, programs, factors);
    // 300 × 1.35 + 150 × 1.25 + 110 × 5 against 100 × 1.35 + n × (120 × 1.25 + 20 × 5) + 10 × 5.
    expect(from).toBe(Math.ceil((300 * 1.35 + 150 * 1.25 + 550 - 135 - 50) / 250));
  });

  test("without a number of calls that costs more there is no advice", () => {
    expect(programsFrom({ written: 0, read: 0 }, direct, programs, factors)).toBeUndefined();
  });

  test.each([
    [undefined, "call it directly."],
    [1, "leave it to programs."],
    [3, "leave it to programs from 3 calls on."],
    [8, "for up to 7 calls it is better called directly, from 8 on by a program."],
  ])("%s is reported with a sentence", (from, sentence) => {
    expect(adviceText("x.get", 1234, from)).toBe(`One result of x.get has about 1,234 tokens: ${sentence}`);
  });
});
