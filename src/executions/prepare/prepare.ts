import type { Language } from "../../../bridge/frames.ts";
import type { Reader } from "../../base/index.ts";
import type { Tool } from "../../tools/tool.ts";
import { CALLING_FUNCTIONS } from "../../tools/tool-name.ts";
import type { Fault } from "../outcome.ts";
import { type SourceMap, sourceMapOf } from "../guest/source-map.ts";
import { preparingThread } from "./preparing-thread.ts";
import { refuseText } from "./refuse-text.ts";
import type { ResultKinds } from "./thread/find-misused-call.ts";

type PreparedProgram =
  | { readonly ok: true; readonly program: string; readonly map: SourceMap }
  | { readonly ok: false; readonly fault: Fault };

const TOO_HARD: Fault = {
  name: "SyntaxError",
  code: "program_too_hard",
  message:
    "Reading the program took too long. Write a simpler one: shorter regular expressions, fewer and simpler types, less nesting.",
};

/**
 * Turns a model's text into the body of an async function: removes text around the code, strips types, calls a lone
 * function, returns a last expression. Line numbers change only where TypeScript has to be written anew; the map leads
 * each position back to the source. A program that cannot run, or that uses the promise or the stream of one of these
 * tools as its result, is refused here, before an engine is started. Only the size of a text and its characters are
 * checked on the host's thread. Rejects with `sandbox_unavailable` if the thread that reads programs does not start.
 */
export async function prepare(
  source: string,
  language: Language = "javascript",
  reader: Reader = { tenant: "" },
  tools: ResultKinds = new Map(),
): Promise<PreparedProgram> {
  const refused = refuseText(source);
  if (refused) return { ok: false, fault: refused };
  const read = await preparingThread.do({ source, language, tools }, reader);
  if (read === "given_up") return { ok: false, fault: TOO_HARD };
  return read.ok ? { ok: true, program: read.text.program, map: sourceMapOf(read.text) } : read;
}

/** What calls of these tools give, and of the functions that are calls. */
export function resultKinds(tools: readonly Tool[]): ResultKinds {
  const functions = [...CALLING_FUNCTIONS.values()].map((name) => [name, "promise"] as const);
  return new Map([...tools.map(({ name, stream }) => [name, stream ? "stream" : "promise"] as const), ...functions]);
}
