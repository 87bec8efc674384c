import { byteText, countText, insetLines } from "../../base/index.ts";
import type { Fault, Outcome, StoppedBy, Waiting } from "../outcome.ts";

/** For each limit, what happened and what to do. The reader is the model that wrote the program. */
const STOPPED: Readonly<Record<StoppedBy, readonly [what: string, advice: string]>> = {
  memoryBytes: ["it needed more memory than", "Keep less at once: reduce each result to what is needed as it arrives."],
  queueMs: ["no engine was free for it within", "None of it ran. Run it again later, unchanged."],
  queue: ["the number of programs waiting for an engine had reached", "None of it ran. Run it again later, unchanged."],
  cpuMs: [
    "it ran longer than",
    "Look for a loop that does not end, or for work that grows with the square of the data.",
  ],
  wallMs: ["it took longer than", "Make calls concurrently instead of one after the other, or ask for less."],
  calls: ["it made more calls than", "Fetch more with each call, or ask for less."],
  concurrentCalls: ["it made more calls at once than", "Make fewer calls at once."],
  inputBytes: ["the input of a call was larger than", "Pass less, or split it into several calls."],
  inputValues: ["the input of a call held more values than", "Pass less, or split it into several calls."],
  resultValues: [
    "the result of a call held more values than",
    "Ask for less: fewer fields, a filter, or page by page.",
  ],
  resultBytes: ["the result of a call was larger than", "Ask for less: fewer fields, a filter, or page by page."],
  partBytes: ["the images and files of a result were larger than", "Ask for fewer or smaller ones."],
  artifactBytes: ["a value that it kept was larger than", "Keep less, or split it into several."],
  streams: ["it had more streams open than", "Read one to its end, or leave its loop, before you open another."],
  streamBytes: [
    "the items of a stream took more than",
    "Leave the loop earlier, or ask for less: fewer fields, or a filter.",
  ],
  artifacts: ["it kept values under more names than", "Use a name again, or keep several values in one."],
  totalBytes: ["its calls moved more data than", "Ask tools for less: fewer fields, filters, fewer rows."],
  heldBytes: [
    "the executions of this runtime used up the memory they share,",
    "Make fewer calls at once, ask tools for less, or run it again later.",
  ],
  outputBytes: [
    "the value it returned was far larger than",
    "Return the answer, not the data: select, aggregate or count in the program.",
  ],
  logBytes: ["it printed more than", "Print less."],
  printedBytes: ["it printed more than", "Print less."],
  frameBytes: [
    "a value that it returned or passed on was larger than",
    "Return the answer, not the data: select, aggregate or count in the program.",
  ],
};

const CRASHED: Readonly<Record<Extract<Outcome, { type: "crashed" }>["code"], string>> = {
  engine_died:
    "The program could not be finished: its engine died, and no other engine could resume it. If this happens again, write the program differently.",
  bridge_broken: "The program could not be finished: it sent data that the host could not read, and was stopped.",
  replay_diverged:
    "The program could not be finished: its engine died, and its replay in another engine took a different course. If it catches out-of-memory or stack-overflow errors, which need not occur at the same place each time, bound its data and its recursion instead.",
};

/** The advice if a program that had begun and had given up its engine waited too long for another. */
const HAS_BEGUN =
  "It had begun, and had given its engine to another program while it waited. See what is done already before you run it again.";

/** Sentences about an execution that ended without a value. `hasBegun`: a part of the program ran. */
export function endingSentence(
  ending: Exclude<Outcome, { type: "completed" }>,
  hint: string | undefined,
  hasBegun: boolean,
): string {
  switch (ending.type) {
    case "failed":
      return faultText(ending.fault, hint);
    case "stopped": {
      const [what, advice] = STOPPED[ending.limit];
      const isQueue = ending.limit === "queueMs" || ending.limit === "queue";
      return `The program was stopped: ${what} ${amount(ending.limit, ending.allowed)} (limit ${ending.limit}). ${isQueue && hasBegun ? HAS_BEGUN : advice}`;
    }
    case "crashed":
      return CRASHED[ending.code];
    case "cancelled":
      return ending.code === undefined
        ? "The execution was cancelled."
        : "The execution was cancelled, because the key that it belongs to was changed or revoked, or has expired.";
    case "waiting":
      return waitingText("program", ending);
  }
}

/** What a program or a conversation waits for, in a sentence. */
export function waitingText(what: "program" | "conversation", { approvals, calls, more = 0 }: Waiting): string {
  const held = approvals.filter(({ why }) => why === "approval");
  const unknown = approvals.filter(({ why }) => why === "outcome_unknown");
  const parts = [
    held.length > 0 && `the approval of ${namesOf(held)}`,
    unknown.length > 0 && `a decision about ${namesOf(unknown)}, which may have taken effect already`,
    calls.length > 0 && `the result of ${namesOf(calls)}`,
    more > 0 && countText(more, "further call"),
  ].filter((part) => part !== false);
  return `The ${what} waits for ${parts.join(" and for ")}. Nothing of it runs meanwhile. It continues as soon as that is there.`;
}

const CALLS_NAMED = 5;

function namesOf(calls: readonly { readonly tool: string; readonly callId: string }[]): string {
  const named = calls.slice(0, CALLS_NAMED).map(({ tool, callId }) => `${tool} (call ${callId})`);
  const more = calls.length - named.length;
  return `${named.join(", ")}${more === 0 ? "" : ` and ${more} more calls`}`;
}

/** Names of faults that are shown: a word, but not a word that begins a line of the runtime. */
const FAULT_NAME = /^[\p{L}_$][\p{L}\p{N}_$.]{0,99}$/u;
const OWN_WORDS: ReadonlySet<string> = new Set(["Kept", "Note", "Printed", "Remarks"]);

/** A fault in the form of a compiler error: name, place, message, source line, hint. */
function faultText({ name, message, line, column, excerpt }: Fault, hint: string | undefined): string {
  const place = line === undefined ? "" : ` at line ${line}, column ${column}`;
  const shown = line === undefined || excerpt === undefined ? "" : `\n  ${line} | ${insetLines(excerpt)}`;
  const isName = FAULT_NAME.test(name) && !OWN_WORDS.has(name);
  const text = insetLines(isName || name === "" ? message : `${name}: ${message}`);
  return `${isName ? name : "Error"}${place}: ${text}${shown}${hint === undefined ? "" : `\n${hint}`}`;
}

/** A limit's value with its unit. */
export function amount(limit: StoppedBy, value: number): string {
  if (limit.endsWith("Ms")) return value % 1000 === 0 ? `${value / 1000} s` : `${value} ms`;
  if (limit.endsWith("Bytes")) return byteText(value);
  return `${value}`;
}

/** The advice of a stub in place of a direct result, if the result cannot be loaded. */
export const TOO_LARGE_ADVICE =
  "Ask for less: fewer fields, a filter, page by page; or let a program call the tool, if a program may.";
