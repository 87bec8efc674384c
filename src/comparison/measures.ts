import type { ProviderName } from "../models/provider/providers.ts";
import type { Spent } from "./tokens.ts";

/** The compared ways to do a task, all with the same tools, question and answer. */
export const MODES = {
  "direct-parallel": "up to ten calls a turn: the baseline that programs are compared with",
  "direct-best-tool": "one tool made for such questions, called directly",
  programmatic: "one program that is right at the first try: the best case",
  "programmatic+probe": "the same after a program that reads samples of the results: compared with the baseline",
} as const;
export type Mode = keyof typeof MODES;

/** The two modes whose ratio is reported: the best case of direct calls with the same tools, and a careful program. */
export const BASELINE = "direct-parallel" satisfies Mode;
export const HEADLINE = "programmatic+probe" satisfies Mode;

export interface ModeMeasure {
  readonly mode: Mode;
  readonly spent: Spent;
  /** In tokens of uncached input: one read from a cache counts 0.1, one written to it 1.25, one of output 5. */
  readonly cost: number;
  /** Whether the results lead to the expected answer. */
  readonly answer: "right" | "wrong";
  /** Whether its largest context fits the window. */
  readonly fits: boolean;
}

/** One task in the requests of one provider. */
export interface ProviderMeasure {
  readonly provider: ProviderName;
  /** False if the provider's encoding is not public, so that all counts are estimates. */
  readonly exact: boolean;
  readonly modes: readonly ModeMeasure[];
  /** Cost of direct calls divided by that of a careful program; undefined if either does not fit or is not right. */
  readonly ratio?: number;
  /** Why there is no ratio. */
  readonly noRatio?: string;
}

/** One task, measured. */
export interface Comparison {
  readonly task: string;
  readonly calls: number;
  /** UTF-8 bytes of all results of direct calls. */
  readonly resultBytes: number;
  /** UTF-8 bytes that reached the model from the program. */
  readonly outputBytes: number;
  readonly providers: readonly ProviderMeasure[];
  /** Warnings that belong to the figures. */
  readonly notes: readonly string[];
}

export function measureOf(modes: readonly ModeMeasure[] | undefined, mode: Mode): ModeMeasure | undefined {
  return modes?.find((one) => one.mode === mode);
}

/** The provider to show if only one is shown: the first whose tokens are not estimates. */
export function leading(measures: readonly ProviderMeasure[]): ProviderMeasure | undefined {
  return measures.find(({ exact }) => exact) ?? measures[0];
}
