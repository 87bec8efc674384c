import { jsonSchemaOf } from "../tools/define-tool.ts";
import type { Tool } from "../tools/tool.ts";
import { typeText } from "../tools/type-text.ts";
import { cutMiddle } from "../values/cut-middle.ts";
import type { Failure, FailureCode, Refusal, RefusalCode } from "./answer.ts";
import type { Overdraft } from "./budget.ts";

/*
 * What a caller is told of a call that got no value. The reader is a program or the model that wrote it: each
 * sentence says what was wrong and what to do next, and nothing that only the host should know.
 */

/** Most bytes of what a caller is told, and a line that says how much was left out. */
const MESSAGE_BYTES = 4096;
/** Most bytes of an input's faults. The tool's type stands after them. */
const REASON_BYTES = 2048;
/** Most characters of a name that is quoted. No tool's name is longer. */
const NAME_LENGTH = 256;

function answer<Code>(code: Code, tool: string, message: string) {
  const shown = cutMiddle(message, MESSAGE_BYTES);
  const cut = shown === message ? {} : { wholeBytes: Buffer.byteLength(message) };
  return { ok: false as const, code, tool: shortName(tool), message: shown, ...cut };
}

function refusal(code: RefusalCode, tool: string, message: string): Refusal {
  return answer(code, tool, message);
}

function failure(code: FailureCode, tool: string, message: string): Failure {
  return answer(code, tool, message);
}

function shortName(name: string): string {
  return name.length <= NAME_LENGTH ? name : `${name.slice(0, NAME_LENGTH)}…`;
}

export function toolUnknown(name: string, nearestNames: readonly string[]) {
  const meant = nearestNames.length === 0 ? "" : ` Did you mean ${nearestNames.join(" or ")}?`;
  return refusal("tool_unknown", name, `There is no tool ${JSON.stringify(shortName(name))}.${meant}`);
}

export function callerNotAllowed(tool: Tool) {
  const way = tool.allowedCallers.includes("programmatic")
    ? "from a program, not directly"
    : "directly, not from a program";
  return refusal("caller_not_allowed", tool.name, `${tool.name} can only be called ${way}.`);
}

export function budgetSpent(tool: string, overdraft: Overdraft) {
  return refusal("budget_spent", tool, overdraftText(tool, overdraft));
}

/** The handler ran, and its result goes beyond what the execution may hold or move. */
export function resultOverBudget(tool: string, overdraft: Overdraft) {
  return failure("result_over_budget", tool, overdraftText(tool, overdraft));
}

function overdraftText(tool: string, { limit, allowed, seen }: Overdraft): string {
  switch (limit) {
    case "calls":
      return `This execution may make ${allowed} calls (limit calls), and has made them. Return what there is, or fetch more with each call.`;
    case "inputBytes":
      return `The input of ${tool} has ${seen} bytes, at most ${allowed} are allowed for one call (limit inputBytes). Pass less, in several calls if need be.`;
    case "totalBytes":
      return `Inputs and results of this execution may have ${allowed} bytes in all (limit totalBytes), and ${tool} would make it ${seen}. Return what there is, or ask tools for less.`;
    case "heldBytes":
      return `All executions of this runtime hold so much in memory that this one may have ${allowed} bytes now (the runtime's heldBytes), and ${tool} would make it ${seen}. Make fewer calls at once, ask tools for less, or try again later.`;
  }
}

export function inputInvalid(tool: Tool, reason: string) {
  const type = shortTypeOf(tool);
  const expected = type === "" ? "" : ` It takes ${type}.`;
  return refusal(
    "input_invalid",
    tool.name,
    `The input of ${tool.name} does not fit: ${cutMiddle(reason, REASON_BYTES)}.${expected}`,
  );
}

/** Longest type of an input that is told, in characters. */
const TYPE_LENGTH = 400;
/** Made once: a schema may have thousands of fields, and a program may make thousands of calls that do not fit it. */
const shortTypes = new WeakMap<Tool, string>();

/** The type of a tool's input, or nothing where it is long. */
function shortTypeOf(tool: Tool): string {
  const known = shortTypes.get(tool);
  if (known !== undefined) return known;
  const type = typeText(jsonSchemaOf(tool.name, "input", tool.input), { descriptionLength: 0, depth: 3 });
  const short = type.length > TYPE_LENGTH ? "" : type;
  shortTypes.set(tool, short);
  return short;
}

/** The note is a person's text. It is quoted as JSON, so that it cannot look like sentences of the gate. */
export function approvalDenied(tool: string, note?: string) {
  const quoted = note === undefined || note === "" ? "" : ` Note of the denial: ${JSON.stringify(note)}`;
  return refusal(
    "approval_denied",
    tool,
    `The call of ${tool} needs approval, and was not approved. Go on without it.${quoted}`,
  );
}

export function handlerFailed(tool: string, callId: string, publicMessage: string | undefined) {
  return failure(
    "handler_failed",
    tool,
    publicMessage ?? `${tool} failed. Why is known to its operator only, under call ${callId}.`,
  );
}

export function handlerTimedOut(tool: Tool) {
  return failure(
    "handler_timed_out",
    tool.name,
    `${tool.name} took longer than ${tool.timeoutMs} ms and was given up.${tool.effect === "read" ? "" : " Whether it took effect is not known."}`,
  );
}

export function outputInvalid(tool: string) {
  return failure(
    "output_invalid",
    tool,
    `${tool} returned something other than what it declares. This is a fault of the tool, not of its input.`,
  );
}

export function resultTooLarge(tool: string, bytes: number, allowed: number) {
  return failure(
    "result_too_large",
    tool,
    `The result of ${tool} has ${bytes} bytes or more, at most ${allowed} are allowed for one call (limit resultBytes). Ask for less: fewer fields, a filter, or page by page.`,
  );
}
