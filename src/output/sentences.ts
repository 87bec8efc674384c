import type { Fault, Outcome, StoppedBy } from "../programs/outcome.ts";
import { insetLines } from "./foreign-text.ts";

/** What to do about a limit that was reached. The reader is the model that wrote the program. */
const STOPPED: Readonly<Record<StoppedBy, { readonly what: string; readonly advice: string }>> = {
  memoryBytes: {
    what: "it needed more memory than",
    advice: "Keep less at once: reduce each result to what is needed as it arrives.",
  },
  queueMs: {
    what: "no engine was free for it within",
    advice: "Nothing of it was done. Run it again as it is, later.",
  },
  queue: {
    what: "more programs would have waited for an engine than",
    advice: "Nothing of it was done. Run it again as it is, later.",
  },
  runningMs: {
    what: "it ran longer than",
    advice: "Look for a loop that does not end, or for work that grows with the square of the data.",
  },
  wallMs: {
    what: "it took longer than",
    advice: "Make calls at once instead of one after the other, or ask for less.",
  },
  calls: { what: "it made more calls than", advice: "Fetch more with each call, or fewer things." },
  callsAtOnce: { what: "it made more calls at once than", advice: "Make fewer calls at once." },
  inputBytes: { what: "the input of a call was larger than", advice: "Pass less, in several calls if need be." },
  resultBytes: {
    what: "the result of a call was larger than",
    advice: "Ask for less: fewer fields, a filter, or page by page.",
  },
  totalBytes: {
    what: "its calls moved more data than",
    advice: "Ask tools for less: fewer fields, filters, fewer rows.",
  },
  heldBytes: {
    what: "the memory that all executions of this runtime share was spent,",
    advice: "Make fewer calls at once, ask tools for less, or run it again later.",
  },
  outputBytes: {
    what: "the value it returned was far larger than",
    advice: "Return the answer, not the data: select, aggregate or count in the program.",
  },
  logBytes: { what: "it printed more than", advice: "Print less." },
  frameBytes: { what: "it sent a message larger than", advice: "Pass on less at once." },
};

const CRASHED: Readonly<Record<Extract<Outcome, { type: "crashed" }>["code"], string>> = {
  engine_died:
    "The program could not be finished: the engine it ran in died, and no other one could take it up. If it does so again, write the program in another way.",
  bridge_broken: "The program could not be finished: what it sent could not be understood, and it was ended.",
  replay_diverged:
    "The program could not be finished: the engine it ran in died, and in another one it did something else than before. Where it catches an error that memory or the stack was full, which need not be at the same place each time, bound its data and its recursion instead.",
};

/** How an execution ended that has no value, in sentences. */
export function endingText(ending: Exclude<Outcome, { type: "completed" }>, hint: string | undefined): string {
  switch (ending.type) {
    case "failed":
      return faultText(ending.fault, hint);
    case "stopped": {
      const { what, advice } = STOPPED[ending.limit];
      return `The program was stopped: ${what} ${amount(ending.limit, ending.allowed)} (limit ${ending.limit}). ${advice}`;
    }
    case "crashed":
      return CRASHED[ending.code];
    case "cancelled":
      return "The execution was cancelled.";
  }
}

/** What a program may call its faults: a word, and none with which the runtime begins a line of its own. */
const FAULT_NAME = /^[\p{L}_$][\p{L}\p{N}_$.]{0,99}$/u;
const OWN_WORDS: ReadonlySet<string> = new Set(["Note", "Printed", "Remarked"]);

/** A fault as a compiler would tell it: what, where, the line, what to do. */
function faultText({ name, message, line, column, excerpt }: Fault, hint: string | undefined): string {
  const place = line === undefined ? "" : ` at line ${line}, column ${column}`;
  const shown = line === undefined || excerpt === undefined ? "" : `\n  ${line} | ${insetLines(excerpt)}`;
  const isName = FAULT_NAME.test(name) && !OWN_WORDS.has(name);
  const said = insetLines(isName || name === "" ? message : `${name}: ${message}`);
  return `${isName ? name : "Error"}${place}: ${said}${shown}${hint === undefined ? "" : `\n${hint}`}`;
}

/** A limit with its unit, as people say it. */
export function amount(limit: StoppedBy, value: number): string {
  if (limit.endsWith("Ms")) return value % 1000 === 0 ? `${value / 1000} s` : `${value} ms`;
  if (limit.endsWith("Bytes")) return byteText(value);
  return `${value}`;
}

export function byteText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB"];
  let value = bytes;
  let unit = "B";
  for (const larger of units) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${unit}`;
}
