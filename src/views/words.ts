import { byteText } from "../output/byte-text.ts";
import { count, counted } from "../output/count-text.ts";
import type {
  CallState,
  CallView,
  DecisionView,
  ExecutionView,
  FunnelView,
  ModelTurnView,
  StreamView,
  WaitingView,
} from "./view.ts";

/*
 * What people read of executions, on the page and on a terminal: words for states and endings, and times.
 */

/** The state of an execution; if it has ended, how. */
export function stateText({
  state,
  driven = true,
  outcome,
}: {
  readonly state: string;
  readonly driven?: boolean | undefined;
  /** Type of the ending. */
  readonly outcome?: string | undefined;
}): string {
  if (state === "running" && !driven) return "running, no driver";
  return state === "ended" && outcome !== undefined ? outcome : state;
}

const CALL_STATES: Readonly<Record<CallState, string>> = {
  open: "runs",
  waiting: "waits",
  value: "done",
  refused: "refused",
  failed: "failed",
  aborted: "given up",
};

/**
 * The state of a call, or what is known beyond it: the kind of its value, the code of its failure. Of a stream, how far it
 * is, or how far it came.
 */
export function callText({ state, detail = "", items }: Pick<CallView, "state" | "detail" | "items">): string {
  const text = detail === "" ? CALL_STATES[state] : detail;
  if (items === undefined || state === "value") return text;
  return state === "open" && detail === ""
    ? `${counted(items, "item")} so far`
    : `${text} after ${counted(items, "item")}`;
}

/** How far a stream is, like `stream of 12,000 items, 2.4 MiB so far`; of one that has ended, without `so far`. */
export function streamText({ items, bytes }: StreamView, isOpen: boolean): string {
  return `stream of ${counted(items, "item")}, ${byteText(bytes)}${isOpen ? " so far" : ""}`;
}

/** How an execution has ended, with the limit that stopped it. */
export function endingText({ type, limit }: { readonly type: string; readonly limit?: string | undefined }): string {
  return limit === undefined ? type : `${type} by ${limit}`;
}

/** What a call does while it waits. */
export const WAITS: Readonly<Record<WaitingView["why"], string>> = {
  approval: "waits for approval",
  outcome_unknown: "waits for a decision: its host died while it ran, so it may have taken effect",
  result: "waits for its result",
};

/** What does the work: a program's language and sandbox, a conversation's model, the tool of a call. */
export function byText(view: ExecutionView): string {
  if (view.kind === "program") return `${view.language} in ${view.sandbox}`;
  if (view.kind === "conversation") return view.model;
  return view.calls.map(({ tool, caller }) => `${tool} as ${caller}`).join();
}

/** A conversation that rests. */
export const RESTS = "It waits for the user to say more.";

export function decisionText({ decision, remember, remembered }: DecisionView): string {
  const word = decision === "done" ? "said to be done" : decision;
  return `${word}${remember ? ", also later calls" : ""}${remembered === undefined ? "" : `, as call ${remembered}`}`;
}

/** The amounts of a funnel in their order. */
export const FUNNEL: readonly (readonly [part: keyof FunnelView, what: string])[] = [
  ["fetched", "returned by tools"],
  ["seen", "handed to the program"],
  ["returned", "given to the model"],
];

/** What a turn of a model did. */
export function turnText({ calls, programs, inputTokens, outputTokens, end }: ModelTurnView): string {
  const tokens = `${count(inputTokens)} tokens in, ${count(outputTokens)} out`;
  return `${end}, ${counted(calls.length, "direct call")}, ${counted(programs.length, "program")}, ${tokens}`;
}

export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}
