import { describe, expect, test } from "vitest";
import type { Comparison, Mode, ModeMeasure } from "../../src/comparison/index.ts";
import { reportFrom, reportMarkdown, reportNotes, reportTables, sweepFrom } from "../../src/comparison/report.ts";

const SETTINGS = { date: "2026-11-20", portcullis: "1.2.3", node: "24.0.0", windowTokens: 200_000 };
const SPENT = { turns: 2, input: 100, output: 10, peak: 60, cacheable: 40 };

const measure = (mode: Mode, cost: number, changes: Partial<ModeMeasure> = {}): ModeMeasure => ({
  mode,
  spent: SPENT,
  cost,
  answer: "right",
  fits: true,
  ...changes,
});

const comparison = (task: string, direct: number, program: number, changes: Partial<Comparison> = {}): Comparison => {
  const modes = [
    measure("direct-parallel", direct),
    measure("programmatic", program / 2),
    measure("programmatic+probe", program),
  ];
  return {
    task,
    calls: 3,
    resultBytes: 1000,
    outputBytes: 10,
    notes: [],
    providers: [
      { provider: "openai", exact: true, modes, ratio: direct / program },
      { provider: "anthropic", exact: false, modes, ratio: 9 },
    ],
    ...changes,
  };
};

const without = (noRatio: string, modes: readonly ModeMeasure[] = []): Partial<Comparison> => ({
  providers: [{ provider: "openai", exact: true, modes, noRatio }],
});
const report = (...comparisons: readonly Comparison[]) => reportFrom(SETTINGS, comparisons, []);

describe("a report", () => {
  test("shows losses first, by tokens that are no estimates, and what has no ratio last", () => {
    const wrong = [measure("direct-parallel", 300), measure("programmatic+probe", 100, { answer: "wrong" })];
    const { comparisons } = report(
      comparison("huge", 1, 1, without("direct-parallel does not fit")),
      comparison("wrong", 1, 1, without("programmatic+probe has a wrong answer", wrong)),
      comparison("won", 300, 100),
      comparison("lost", 50, 100),
      comparison("even", 100, 100),
    );
    expect(comparisons.map(({ task }) => task)).toEqual(["wrong", "lost", "even", "won", "huge"]);
  });

  test("says what does not fit and what is wrong, in place of a figure or beside it", () => {
    const modes = [
      measure("direct-parallel", 6, { fits: false }),
      measure("direct-best-tool", 8, { answer: "wrong" }),
      measure("programmatic+probe", 9),
    ];
    const [table] = reportTables(report(comparison("one", 1, 1, without("direct-parallel does not fit", modes))));
    const figures = ["3", "1,000", "10", "60", "60", "does not fit", "8 (wrong)", "–", "9"];
    expect(table?.rows[0]).toEqual(["one", ...figures, "direct-parallel does not fit"]);
  });

  test("is a document whose cells cannot end a row", () => {
    const text = reportMarkdown(report(comparison("a | b\nc", 1, 1, { notes: ["Mind this."] })));
    expect(text).toContain("| a \\| b c | 3 |");
    expect(text).toContain("no model was called");
  });

  test("has a note of several tasks once", () => {
    const notes = (task: string, ...own: string[]) => comparison(task, 1, 1, { notes: own });
    expect(reportNotes(report(notes("a", "All.", "Two."), notes("b", "All.", "Two."), notes("c", "All.")))).toEqual([
      "All.",
      "a, b: Two.",
    ]);
  });
});

describe("a sweep", () => {
  const points = (...costs: readonly (readonly [rows: number, direct: number, program: number])[]) =>
    sweepFrom(
      "joined",
      costs.map(([rows, direct, program]) => ({ rows, comparison: comparison(`${rows}`, direct, program) })),
    );

  test("crosses on a straight line between two points, at the last crossing", () => {
    const sweep = points([4, 140, 100], [1, 20, 100], [2, 60, 100]);
    // With a probe 100, without half of it.
    expect([sweep.breakEvenWithProbe, sweep.breakEven]).toEqual([3, 1.75]);
    expect(points([1, 120, 100], [2, 80, 100], [4, 120, 100]).breakEvenWithProbe).toBe(3);
  });

  test("crosses nowhere where direct calls stay cheaper or an answer is wrong, and at its first point where they never are", () => {
    expect(points([1, 10, 100], [2, 20, 100]).breakEvenWithProbe).toBeUndefined();
    expect(points([3, 200, 100], [4, 300, 100]).breakEvenWithProbe).toBe(3);
    const modes = [measure("direct-parallel", 200, { answer: "wrong" }), measure("programmatic", 50)];
    const wrong = comparison("3", 1, 1, without("wrong", [...modes, measure("programmatic+probe", 100)]));
    const sweep = sweepFrom("joined", [{ rows: 3, comparison: wrong }]);
    expect(sweep.breakEvenWithProbe).toBeUndefined();
    expect(reportTables(reportFrom(SETTINGS, [], [sweep]))[1]?.rows).toEqual([["3", "3", "200", "50", "100", "WRONG"]]);
  });
});
