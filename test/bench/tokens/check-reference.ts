/**
 * Holds a report to the figures of an earlier measurement with other code, `reference.json`: each within 10 %, or
 * within 10 % without what this package is known to say besides (which is bounded by what it does say), or with a reason that is written down.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { programBoundaries } from "../../../src/agent/prompt/limit-sentences.ts";
import { instructionsFor } from "../../../src/agent/prompt/instructions.ts";
import type { Comparison, Mode, ModeMeasure, Spent } from "../../../src/comparison/index.ts";
import type { BenchReport } from "../../../src/comparison/report.ts";
import { DEFAULT_LIMITS } from "../../../src/programs/limits.ts";
import { declareTools } from "../../../src/tools/declarations/declarations.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { ToolSet } from "../../../src/tools/tool-set.ts";
import { countTokens } from "../../../src/tools/count-tokens.ts";
import { table } from "../../../src/cli/terminal/print.ts";

interface Reference {
  readonly calls: number;
  readonly resultBytes: number;
  readonly turns: number;
  readonly input: number;
  readonly peak: number;
  readonly programInput: number;
  readonly programOutput: number;
  readonly programPeak: number;
  readonly probeInput: number;
  readonly costs: readonly number[];
}

const folder = import.meta.dirname;
const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), "utf8"));
const report = read("report.json") as BenchReport;
const reference = read("reference.json") as {
  readonly tasks: Readonly<Record<string, Reference>>;
  readonly reasons: Readonly<Record<string, string>>;
};

const CLOSE = 0.1;
/** Of the reference's prices. */
const WRITE_FACTOR = 1.25;
const READ_FACTOR = 0.1;
const OUTPUT_FACTOR = 5;
const PROGRAM_BOUNDARIES = countTokens(programBoundaries(DEFAULT_LIMITS, { shares: true, tools: [] }));

/** What providers are told of a tool's input whose unknown fields are refused. */
const CLOSED = countTokens(',"additionalProperties":false');

interface Figure {
  readonly name: string;
  readonly measured: number;
  readonly reference: number | undefined;
  /** What of the measured figure is known to come from saying more: in the fixed part of each context, or in the program. */
  readonly besides: number;
}

/** Tokens by which descriptions of tools and of their inputs may be longer than the reference's, which are not known one by one. */
const LONGER_DESCRIPTIONS = 150;

/** Most that a context with programs may have at its beginning beside the reference's: instructions, and the types of results. */
function mostBesides(tools: readonly Tool[]): number {
  const declared = new ToolSet(tools).visibleTo(["programmatic"]);
  const bare = declared.map((tool) => ({ ...tool, output: undefined }));
  const types = countTokens(declareTools(declared)) - countTokens(declareTools(bare));
  return countTokens(instructionsFor("local")) + PROGRAM_BOUNDARIES + types + LONGER_DESCRIPTIONS;
}

async function figuresOf(
  { task, calls, resultBytes, providers }: Comparison,
  expected: Reference,
): Promise<readonly Figure[]> {
  const { default: tools } = (await import(`../../../examples/${task}/tools.ts`)) as { default: readonly Tool[] };
  const modes = providers.find(({ provider }) => provider === "openai")?.modes ?? [];
  const find = (mode: Mode): ModeMeasure => {
    const found = modes.find((one) => one.mode === mode);
    if (!found) throw new Error(`${task} was not measured as ${mode}.`);
    return found;
  };
  const parallel = find("direct-parallel");
  const program = find("programmatic");
  const probe = find("programmatic+probe");

  // A conversation of two turns reads the fixed part, and then the fixed part and all the rest.
  const programFixed = Math.min(
    firstContext(program.spent) - (expected.programInput - expected.programPeak),
    mostBesides(tools),
  );
  const longer = program.spent.output - expected.programOutput;
  // Of a longer one the reference does not tell its fixed part, but this much it did not have.
  const directBesides = (spent: Spent) =>
    spent.turns *
    (expected.turns === 2
      ? Math.min(firstContext(spent) - (expected.input - expected.peak), LONGER_DESCRIPTIONS)
      : tools.length * CLOSED);
  const peakBesides = directBesides(parallel.spent) / parallel.spent.turns;
  const cached = (besides: number, turns: number) => (besides / turns) * (WRITE_FACTOR + READ_FACTOR * (turns - 1));
  const programCost = (turns: number) => cached(programFixed * turns, turns) + longer * (OUTPUT_FACTOR + WRITE_FACTOR);

  const direct = (name: string, figure: number | undefined, { cost, spent }: ModeMeasure) => ({
    name,
    measured: cost,
    reference: figure,
    besides: cached(directBesides(spent), spent.turns),
  });
  const same = (name: string, measured: number, figure: number) => ({ name, measured, reference: figure, besides: 0 });
  const more = (name: string, measured: number, figure: number | undefined, besides: number) => ({
    name,
    measured,
    reference: figure,
    besides,
  });
  const [costDirect, costProgram, costProbe] = expected.costs;
  return [
    same("calls", calls, expected.calls),
    same("result bytes", resultBytes, expected.resultBytes),
    same("turns", parallel.spent.turns, expected.turns),
    more("input", parallel.spent.input, expected.input, directBesides(parallel.spent)),
    more("peak", parallel.spent.peak, expected.peak, peakBesides),
    more("program input", program.spent.input, expected.programInput, 2 * programFixed + longer),
    more("program output", program.spent.output, expected.programOutput, longer),
    more("program peak", program.spent.peak, expected.programPeak, programFixed + longer),
    more("probe input", probe.spent.input, expected.probeInput, 3 * programFixed + longer),
    direct("cost direct", costDirect, parallel),
    more("cost program", program.cost, costProgram, programCost(2)),
    more("cost probe", probe.cost, costProbe, programCost(3)),
  ];
}

function firstContext({ input, peak }: Spent): number {
  return input - peak;
}

const isClose = (measured: number, expected: number) => Math.abs(measured / expected - 1) <= CLOSE;
const whole = (value: number) => Math.round(value).toLocaleString("en-US");

const rows: string[][] = [];
let close = 0;
let known = 0;
let unexplained = 0;
for (const comparison of report.comparisons) {
  const expected = reference.tasks[comparison.task];
  if (!expected) continue;
  for (const { name, measured, reference: figure, besides } of await figuresOf(comparison, expected)) {
    if (figure === undefined) continue;
    if (isClose(measured, figure)) {
      close += 1;
      continue;
    }
    const reason = reference.reasons[`${comparison.task}: ${name}`] ?? reference.reasons[name];
    const without = measured - besides;
    const isKnown = name !== "program output" && isClose(without, figure);
    if (isKnown) known += 1;
    else if (reason === undefined) unexplained += 1;
    rows.push([
      comparison.task,
      name,
      whole(measured),
      whole(figure),
      `${(measured / figure).toFixed(2)}×`,
      isKnown ? `${whole(without)} without what is said besides` : (reason ?? "NOT EXPLAINED"),
    ]);
  }
}
process.stdout.write(
  `${table(["task", "figure", "here", "reference", "ratio", "why"], rows, ["here", "reference", "ratio"])}\n`,
);
process.stdout.write(
  `${close} figures within 10 % of the reference, ${known} within 10 % without what is said besides (what data from outside is, when to write a program, the type of every result, what runs may take; longer programs), ${rows.length - known - unexplained} with a reason, ${unexplained} unexplained.\n`,
);
process.exitCode = unexplained > 0 ? 1 : 0;
