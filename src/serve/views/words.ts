import { byteText, count, countText } from "../../base/texts.ts";
import type {
  CallState,
  CallView,
  DecisionView,
  ExecutionView,
  FunnelView,
  HostedCallView,
  LimitView,
  ModelTurnView,
  OutcomeView,
  ProgramCallView,
  StreamView,
  WaitingView,
} from "./view.ts";

/*
 * What people read of executions, on the page and on a terminal: words for states and endings, and times.
 */

/** What an execution needs of the worker that takes it up. */
export function needsText({ what, names }: NonNullable<ExecutionView["needs"]>): string {
  return [`a worker ${NEEDS[what]}`, ...(names.length === 0 ? [] : [names.join(", ")])].join(
    what === "tools" ? ": " : " ",
  );
}

const NEEDS = {
  tools: "with its tools as they were",
  sandbox: "with its sandbox",
  protocol: "of the version that began it, whose guest speaks protocol",
  model: "with its model",
};

/** The state of an execution; if it has ended, how. */
export function stateText({
  state,
  driven = true,
  needs,
  outcome,
}: {
  readonly state: string;
  readonly driven?: boolean | undefined;
  readonly needs?: ExecutionView["needs"] | undefined;
  /** Type of the ending. */
  readonly outcome?: string | undefined;
}): string {
  if (state === "running" && !driven) return needs ? "needs a worker" : "has no driver";
  if (state === "unread") return "not read";
  return state === "ended" && outcome !== undefined ? endingWord(outcome) : state;
}

/** Endings whose types are not what people say. */
const ENDINGS = new Map([
  ["answer_invalid", "answer not valid"],
  ["turns_spent", "out of turns"],
  ["tokens_spent", "out of tokens"],
]);

/** How an execution has ended, by the type of its ending. */
export function endingWord(type: string): string {
  return ENDINGS.get(type) ?? type.replaceAll("_", " ");
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
    ? `${countText(items, "item")} so far`
    : `${text} after ${countText(items, "item")}`;
}

/** The tool of a call, and where it runs if not in a handler of the host: `crm.find (mcp crm)`. */
export function toolText({ tool, place }: Pick<CallView, "tool" | "place">): string {
  return place === undefined ? tool : `${tool} (${place})`;
}

/** A code of a refusal or failure as people say it. */
export function codeText(code: string): string {
  return code.replaceAll("_", " ");
}

/** How far a stream is, like `stream of 12,000 items, 2.4 MiB so far`; of one that has ended, without `so far`. */
export function streamText({ items, bytes }: StreamView, isOpen: boolean): string {
  return `stream of ${countText(items, "item")}, ${byteText(bytes)}${isOpen ? " so far" : ""}`;
}

/** How an execution has ended, with the limit that stopped it, and the limit's name for those who set it. */
export function endingText(ending: Pick<OutcomeView, "type" | "limit">): string {
  const { limit } = ending;
  return `${endingWords(ending)}${limit === undefined || limitText(limit) === limit ? "" : ` (${limit})`}`;
}

function endingWords({ type, limit }: Pick<OutcomeView, "type" | "limit">): string {
  return `${endingWord(type)}${limit === undefined ? "" : ` by the limit of ${limitText(limit)}`}`;
}

const LIMITS = new Map(
  Object.entries({
    memoryBytes: "memory",
    queueMs: "waiting for an engine",
    queue: "programs that wait for an engine",
    cpuMs: "running time",
    wallMs: "whole time",
    waitMs: "waiting time",
    calls: "calls",
    concurrentCalls: "calls at once",
    inputBytes: "one input",
    inputValues: "values in one input",
    resultBytes: "one result",
    resultValues: "values in one result",
    totalBytes: "all inputs and results",
    streamBytes: "one stream",
    streams: "open streams",
    partBytes: "images and files of one result",
    artifactBytes: "one kept value",
    artifacts: "kept values",
    outputBytes: "the returned value",
    logBytes: "printed text that is shown",
    printedBytes: "printed text",
    frameBytes: "one message of the program",
    heldBytes: "memory that executions share",
    maxTurns: "turns of the model",
    maxTokens: "tokens of the model",
  }),
);

/** What a limit bounds. */
export function limitText(name: string): string {
  return LIMITS.get(name) ?? name;
}

/** Share of a limit from which people are told of it. */
const NEAR = 0.5;

/** The limits that an execution has neared, and the one that stopped it. */
export function nearLimits({ limits, outcome }: Pick<ExecutionView, "limits" | "outcome">): readonly LimitView[] {
  const reached = limitOf(outcome);
  return limits.filter(({ name, used = 0, allowed }) => name === reached || used >= allowed * NEAR);
}

/** The limit that ended an execution. */
export function limitOf(outcome: ExecutionView["outcome"]): string | undefined {
  if (outcome?.type === "turns_spent") return "maxTurns";
  return outcome?.type === "tokens_spent" ? "maxTokens" : outcome?.limit;
}

/** What came out of an execution so far, in a sentence. */
export function leadText(view: ExecutionView): string {
  const { state, driven, needs, waiting, outcome, calls, output } = view;
  const total = callCount(view);
  // The page of a program shows its fault below its source.
  if (outcome?.fault && view.kind !== "program") {
    const { name, message, line } = outcome.fault;
    return `${name}${line === undefined ? "" : ` in line ${line}`}: ${beginning(message)}`;
  }
  if (outcome) {
    const tail =
      output && view.kind === "program" && outcome.type === "completed"
        ? `, with ${byteText(output.bytes)} for the model`
        : "";
    return `${capital(endingWords({ ...outcome, limit: limitOf(outcome) }))} after ${countText(total, "call")}${tail}.`;
  }
  if (view.kind === "conversation" && view.rests) return RESTS;
  if (state === "waiting") return waiting.length === 0 ? "It waits." : `It waits for ${waitingFor(waiting)}.`;
  if (!driven && needs) return `It waits for ${needsText(needs)}.`;
  if (!driven) return "It has no driver, and can be resumed.";
  const open = calls.filter((call) => call.state === "open").length;
  return `${countText(total, "call")} so far${open === 0 ? "" : `, ${count(open)} open`}.`;
}

/** Number of calls of tools. A program of a conversation is none: the calls that it made are. */
export function callCount(view: ExecutionView): number {
  const programs = view.kind === "conversation" ? view.turns.flatMap((turn) => turn.programs) : [];
  return programs.reduce((sum, { calls = 0 }) => sum + calls, view.calls.length + (view.callsLeft ?? 0));
}

const NAMED = 3;

function waitingFor(waiting: readonly WaitingView[]): string {
  const [first] = waiting;
  const what = waiting.every(({ why }) => why === "result")
    ? "the result"
    : first?.why === "approval"
      ? "the approval"
      : "a decision about a call";
  const tools = [...new Set(waiting.map(({ tool }) => tool))];
  const more = tools.length > NAMED ? " …" : "";
  return `${what} of ${tools.slice(0, NAMED).join(", ")}${more}${waiting.length > 1 ? ` (${countText(waiting.length, "call")})` : ""}`;
}

const MESSAGE = 160;

function beginning(message: string): string {
  const [line = ""] = message.slice(0, MESSAGE).split("\n");
  if (line.length === message.length) return line;
  const sentence = line.lastIndexOf(". ");
  return sentence > 0 ? line.slice(0, sentence + 1) : `${line.trimEnd().toWellFormed()} …`;
}

export function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** What a call does while it waits. */
export const WAITS: Readonly<Record<WaitingView["why"], string>> = {
  approval: "waits for approval",
  outcome_unknown: "waits for a decision: it may have taken effect already, and there is no result of it",
  result: "waits for its result",
};

/** An answer to a call that waits for a person. */
export interface AnswerWords {
  readonly answer: "done" | "allow" | "deny";
  /** What a person chooses. */
  readonly verb: string;
  readonly effect: string;
  /** What is said once it is chosen. */
  readonly chosen: string;
}

/** The answers to a call that waits for a person, in the order in which they are shown. */
export const ANSWERS: Readonly<Record<Exclude<WaitingView["why"], "result">, readonly AnswerWords[]>> = {
  approval: [
    { answer: "allow", verb: "Allow", effect: "the call runs", chosen: "Allowed" },
    { answer: "deny", verb: "Deny", effect: "the program gets a refusal", chosen: "Denied" },
  ],
  // Nobody takes the answer that repeats a write because it is the first or the only one.
  outcome_unknown: [
    {
      answer: "done",
      verb: "It was done…",
      effect: "the program gets the result that you give as JSON",
      chosen: "Noted as done",
    },
    { answer: "allow", verb: "Run it again", effect: "the call is made a second time", chosen: "It runs again" },
    { answer: "deny", verb: "Give up", effect: "the program gets the error outcome_unknown", chosen: "Given up" },
  ],
};

/** What does the work: a program's language and sandbox, a conversation's model, the tool of a call. */
export function byText(view: ExecutionView): string {
  if (view.kind === "program") return `${view.language} in ${view.sandbox}`;
  if (view.kind === "conversation") return view.model;
  return view.calls.map(({ tool, caller }) => `${tool} as ${caller}`).join();
}

/** A conversation that rests. */
export const RESTS = "It waits for the user to say more.";

export function decisionText({ decision, remember, remembered, grant, granted }: DecisionView): string {
  const word = decision === "done" ? "said to be done" : decision;
  const more = grant === undefined ? "" : `, and ${grant}`;
  const by = granted === undefined ? "" : `, by the grant of call ${granted.call}, which has ${granted.left} left`;
  return `${word}${remember ? ", also later calls" : ""}${more}${by}${remembered === undefined ? "" : `, as call ${remembered}`}`;
}

/** The amounts of a funnel in their order. */
export const FUNNEL: readonly (readonly [part: keyof FunnelView, what: string])[] = [
  ["fetched", "returned by tools"],
  ["seen", "handed to the program"],
  ["returned", "given to the model"],
];

/** What the model was given of what tools returned; empty if it was given no less. */
export function funnelText({ fetched, returned }: FunnelView): string {
  if (!returned || fetched.bytes === 0 || returned.bytes >= fetched.bytes) return "";
  return `The model was given ${percent(returned.bytes / fetched.bytes)} of what the tools returned.`;
}

function percent(share: number): string {
  const value = share * 100;
  if (value >= 10) return `${Math.round(value)} %`;
  return value < 0.01 ? "less than 0.01 %" : `${Number(value.toPrecision(2))} %`;
}

/** A funnel in a line, like `480 KiB (about 120,000 tokens) returned by tools → 64 B (20 tokens) given to the model`. */
export function funnelInLine(funnel: FunnelView): string {
  const parts = FUNNEL.flatMap(([name, what]) => {
    const part = funnel[name];
    if (!part) return [];
    const tokens = `${part.estimated ? "about " : ""}${countText(part.tokens, "token")}`;
    return [`${byteText(part.bytes)}${part.bytes === 0 ? "" : ` (${tokens})`} ${what}`];
  });
  return parts.join(" → ");
}

/** What a program of a conversation did, in a line: its calls, what they fetched, and what the model was given. */
export function programText({ calls, fetched = 0, result, isError = false, source }: ProgramCallView): string {
  if (calls === undefined) return `ran at the provider, ${byteText(source.bytes)} of source`;
  const summary = `${countText(calls, "call")}${calls === 0 ? "" : ` fetched ${byteText(fetched)}`}`;
  if (!result) return `${summary} so far`;
  return `${summary}, ${isError ? "no value, " : ""}${byteText(result.bytes)} given to the model`;
}

/** What a turn of a model did. */
export function turnText(turn: ModelTurnView): string {
  const what = `${countText(turn.calls.length, "direct call")}, ${countText(turn.programs.length, "program")}`;
  return `${turn.end}, ${what}, ${tokensText(turn)}`;
}

/** A call that a provider made itself, and what came of it: data from outside, which no gate has seen. */
export function hostedCallText({ tool, input, isError, sources, output = "" }: Omit<HostedCallView, "id">): string {
  const gave = isError ? `failed${output === "" ? "" : `: ${output}`}` : countText(sources.length, "source");
  return `${tool} at the provider${input === "" ? "" : ` with ${input}`} → ${isError === undefined ? "not ended" : gave}`;
}

/** The tokens of a turn of a model. */
export function tokensText({ inputTokens, outputTokens }: Pick<ModelTurnView, "inputTokens" | "outputTokens">): string {
  return `${countText(inputTokens, "token")} in, ${count(outputTokens)} out`;
}

/** A time, from a minute on in its two largest units, like `2 min 30 s`. A unit ends where its text would round to the next. */
export function duration(ms: number): string {
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_995) return `${(ms / 1000).toFixed(2)} s`;
  const seconds = Math.round(ms / 1000);
  const first = UNITS.findIndex(([size]) => seconds >= size);
  return UNITS.slice(first, first + 2)
    .map(([size, unit, most]) => [Math.floor(seconds / size) % most, unit] as const)
    .flatMap(([amount, unit]) => (amount > 0 ? `${amount} ${unit}` : []))
    .join(" ");
}

/** Units of long times: their seconds, their names, and how many of them are one of the unit above. */
const UNITS = [
  [86_400, "d", Infinity],
  [3600, "h", 24],
  [60, "min", 60],
  [1, "s", 60],
] as const;
