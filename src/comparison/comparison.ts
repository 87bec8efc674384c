import type { Cost, Spent } from "./accounting/accounting.ts";
import type { WireName } from "./wires/wire.ts";

/** The compared ways to do a task, all with the same tools, question and answer. */
export type Mode = keyof typeof MODES;
export const MODES = {
  "direct-seq": "one call per turn, for comparison only",
  "direct-parallel": "up to `atOnce` calls per turn: the baseline that programs are compared with",
  "direct-unlimited": "all calls that do not need each other's answers in one turn",
  "direct-truncated": "the same, with each result cut at `cutTokens`, as many clients do",
  "direct-best-tool": "one tool made for such questions, called directly",
  programmatic: "one program that is right at the first try: the best case",
  "programmatic+probe": "the same after a program that reads samples of the results: compared with the baseline",
  "programmatic+retry": "the same after a program that failed",
} as const;

/** The two modes whose ratio is reported: the best case of direct calls with the same tools, and a careful program. */
export const BASELINE = "direct-parallel" satisfies Mode;
export const HEADLINE = "programmatic+probe" satisfies Mode;

export interface ModeMeasure {
  readonly mode: Mode;
  readonly spent: Spent;
  /** `spent` in the report's second encoding. */
  readonly spentOther: Spent;
  readonly cost: Cost;
  /** Whether the results lead to the expected answer. */
  readonly answer: Verdict;
  /** Whether its largest context fits the window. */
  readonly fits: boolean;
}

/** `unchecked` if the answer cannot be worked out from the results offline. */
export type Verdict = "right" | "wrong" | "unchecked";

/** One task on one provider's wire. */
export interface WireMeasure {
  readonly wire: WireName;
  /** False if the provider's encoding is not public, so that all counts are estimates. */
  readonly exact: boolean;
  readonly modes: readonly ModeMeasure[];
  /** Cached cost of `BASELINE` divided by that of `HEADLINE`; undefined if either does not fit or is not right. */
  readonly ratio?: number;
  /** `ratio` in the report's second encoding, to show how much the choice of encoding matters. */
  readonly ratioOther?: number;
  /** Why there is no ratio. */
  readonly noRatio?: string;
}

/** One task, measured. */
export interface Comparison {
  readonly task: string;
  readonly question: string;
  readonly answer: unknown;
  readonly calls: number;
  /** Layers of direct calls. A layer needs the results of the layers before it. */
  readonly layers: number;
  /** UTF-8 bytes of all results of direct calls. */
  readonly resultBytes: number;
  /** UTF-8 bytes that reached the model from the program. */
  readonly outputBytes: number;
  readonly wires: readonly WireMeasure[];
  readonly tools: readonly ToolMeasure[];
  /** Warnings that belong to the figures. */
  readonly notes: readonly string[];
}

/** What one tool returned in a task. */
export interface ToolMeasure {
  readonly tool: string;
  /** Direct calls; of a tool that is not measured, the calls of the program. */
  readonly calls: number;
  /** Tokens of one result as the model would read it, the median. Undefined if direct calls were not measured. */
  readonly resultTokens?: number;
  /** Why the tool is not measured, as a sentence. */
  readonly unmeasured?: string;
  /** Calls in one turn from which on a program costs less than direct calls; undefined if it never does. */
  readonly programsFrom?: number;
}

/** The wire to show if only one is shown: the first whose tokens are not estimates. */
export function leading<One extends { readonly exact: boolean }>(wires: readonly One[]): One | undefined {
  return wires.find(({ exact }) => exact) ?? wires[0];
}

export function modeOf(modes: readonly ModeMeasure[] | undefined, mode: Mode): ModeMeasure | undefined {
  return modes?.find((one) => one.mode === mode);
}
