import { describe, expect, test } from "vitest";
import type { Comparison, Mode, ModeMeasure } from "../../src/comparison/index.ts";
import { lossesFirst, reportNotes, reportTable } from "../../src/comparison/report.ts";

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

describe("a report", () => {
  test("shows losses first, by tokens that are no estimates, and what has no ratio last", () => {
    const wrong = [measure("direct-parallel", 300), measure("programmatic+probe", 100, { answer: "wrong" })];
    const sorted = lossesFirst([
      comparison("huge", 1, 1, without("direct-parallel does not fit")),
      comparison("wrong", 1, 1, without("programmatic+probe has a wrong answer", wrong)),
      comparison("won", 300, 100),
      comparison("lost", 50, 100),
      comparison("even", 100, 100),
    ]);
    expect(sorted.map(({ task }) => task)).toEqual(["wrong", "lost", "even", "won", "huge"]);
  });

  test("says what does not fit and what is wrong, in place of a figure or beside it", () => {
    const modes = [
      measure("direct-parallel", 6, { fits: false }),
      measure("programmatic", 8, { answer: "wrong" }),
      measure("programmatic+probe", 9),
    ];
    const { rows } = reportTable([comparison("one", 1, 1, without("direct-parallel does not fit", modes))]);
    const figures = ["3", "1,000", "10", "60", "60", "does not fit", "8 (wrong)", "9"];
    expect(rows[0]).toEqual(["one", ...figures, "direct-parallel does not fit"]);
  });

  test("has a note of several tasks once", () => {
    const notes = (task: string, ...own: string[]) => comparison(task, 1, 1, { notes: own });
    expect(reportNotes([notes("a", "All.", "Two."), notes("b", "All.", "Two."), notes("c", "All.")])).toEqual([
      "All.",
      "a, b: Two.",
    ]);
  });
});
