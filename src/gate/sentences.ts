import { cutMiddle, describe, PortcullisError } from "../base/index.ts";
import type { Content } from "../tools/content.ts";
import type { Effect, Tool } from "../tools/tool.ts";
import { inputJson } from "../tools/tool-schemas.ts";
import { shortTypeText } from "../tools/declarations/type-text.ts";
import type { Failure, FailureCode, RefusalCode } from "./answer.ts";
import type { Overdraft } from "./admit/budget.ts";

/*
 * Messages for calls that return no value. The reader is a program or the model that wrote it. Each message says what
 * was wrong and what to do next, and holds no detail of the host. The errors are for the operator.
 */

/** Maximum bytes of a message, without the line that says how much was left out. */
const MESSAGE_BYTES = 4096;
/** Maximum bytes of an input's faults. The tool's input type follows them. */
const REASON_BYTES = 2048;
/** Maximum characters of a quoted name. Names of tools are shorter. */
const NAME_LENGTH = 256;

/** Makes the function of a message with this code. Its first argument is the call or the name of its tool. */
function says<Code extends RefusalCode | FailureCode>(code: Code) {
  return <Rest extends readonly unknown[]>(sentence: (tool: string, ...rest: Rest) => string) =>
    (about: string | { readonly tool: Pick<Tool, "name"> }, ...rest: Rest) => {
      const tool = typeof about === "string" ? about : about.tool.name;
      const message = sentence(tool, ...rest);
      const shown = cutMiddle(message, MESSAGE_BYTES);
      const cut = shown === message ? {} : { wholeBytes: Buffer.byteLength(message) };
      return { ok: false as const, code, tool: shortName(tool), message: shown, ...cut };
    };
}

function shortName(name: string): string {
  return name.length <= NAME_LENGTH ? name : `${name.slice(0, NAME_LENGTH)}…`;
}

export const toolUnknown = says("tool_unknown")((name, meant?: string) => {
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  return `There is no tool ${JSON.stringify(shortName(name))}.${hint}`;
});

export const callerNotAllowed = says("caller_not_allowed")((name, { allowedCallers }: Tool) => {
  const way = allowedCallers.includes("programmatic")
    ? "from a program: write a program that calls it"
    : "directly: call it outside of a program";
  return `${name} can only be called ${way}.`;
});

export const budgetSpent = says("budget_spent")(overdraftText);

/** As many streams of a tool are open in one program as the tool may have calls. */
export const streamsAtOnce = says("budget_spent")(
  (tool, concurrency: number) =>
    `${tool} may have ${concurrency} ${concurrency === 1 ? "call" : "calls"} at once, and as many of its streams are open in this program. ${READ_ONE}`,
);

export const resultOverBudget = says("result_over_budget")(overdraftText);

function overdraftText(tool: string, { limit, allowed, seen }: Overdraft): string {
  switch (limit) {
    case "calls":
      return `This execution may make ${allowed} calls (limit calls), and has used them all. Return what you have, or fetch more with each call.`;
    case "inputBytes":
    case "inputValues":
      return `The input of ${tool} ${sizeText(limit, seen)}, at most ${allowed} are allowed for one call (limit ${limit}). Pass less, or split it into several calls.`;
    case "artifactBytes":
      return `The value has ${seen} bytes, and one that is kept may have ${allowed} (limit artifactBytes). Keep less, or split it into several.`;
    case "artifacts":
      return `Values are kept under ${allowed} names already (limit artifacts). Use one of these names again, or keep several values in one.`;
    case "streams":
      return `At most ${allowed} ${allowed === 1 ? "stream" : "streams"} may be open at once (limit streams). ${READ_ONE}`;
    case "streamBytes":
      return `The items of one stream may take ${allowed} bytes in all (limit streamBytes), and ${tool} has more. Leave the loop earlier, or ask for less: fewer fields, or a filter.`;
    case "totalBytes":
      return `The inputs and results of this execution may take ${allowed} bytes in all (limit totalBytes), and ${tool} would bring them to ${seen}. Return what you have, or ask tools for less.`;
    case "heldBytes":
      return `The executions of this runtime share one memory allowance (the runtime's heldBytes). This one may hold ${allowed} bytes now, and ${tool} would bring it to ${seen}. Make fewer calls at once, ask tools for less, or try again later.`;
  }
}

const READ_ONE = "Read one to its end, or leave its loop, before you open another.";

function sizeText(limit: string, seen: number): string {
  return limit.endsWith("Bytes") ? `has ${seen} bytes` : `holds ${seen} values`;
}

export const inputInvalid = says("input_invalid")((name, tool: Tool, reason: string) => {
  const type = shortTypeOf(tool);
  const sentence = `The input of ${name} does not fit: ${cutMiddle(reason, REASON_BYTES)}`;
  return `${sentence}${sentence.endsWith("?") ? "" : "."}${type === "" ? "" : ` It takes ${type}.`}`;
});

/** Cached: a schema may have thousands of fields, and a program may make thousands of invalid calls. */
const shortTypes = new WeakMap<Tool, string>();

function shortTypeOf(tool: Tool): string {
  const short = shortTypes.get(tool) ?? shortTypeText(inputJson(tool));
  shortTypes.set(tool, short);
  return short;
}

/** The text of a policy or an approver, quoted as JSON, so that it cannot be mistaken for the gate's own sentences. */
const quoted = (reason = "") => (reason === "" ? "" : ` Reason given: ${JSON.stringify(reason)}`);

export const policyDenied = says("policy_denied")(
  (tool, reason: string) =>
    `The policy of the host refuses this call of ${tool}. Continue without it. Reason given: ${JSON.stringify(reason)}`,
);

export const approvalDenied = says("approval_denied")(
  (tool, note?: string) =>
    `The call of ${tool} needs approval, and approval was denied. Continue without it.${quoted(note)}`,
);

export const approvalExpired = says("approval_expired")(
  (tool, waitMs: number) =>
    `The call of ${tool} needs approval, and no decision came within ${waitMs} ms (limit waitMs). Continue without it.`,
);

/** There is no approver, or it has failed: nothing is decided. */
export const approvalUnavailable = says("approval_unavailable")(
  (tool) => `The call of ${tool} needs approval, and approval is not available here. Continue without it.`,
);

export const policyUnavailable = says("policy_unavailable")(
  (tool) => `The policy of the host must allow this call of ${tool}, and it did not answer. Continue without it.`,
);

/** An approval or a client's result was left for later, but nothing can take the work up again. */
export function cannotWait(tool: string): PortcullisError {
  return new PortcullisError(
    "option_invalid",
    `The call of ${tool} would wait for a later decision or a client's result. Agents that are tools, the programs that they start, and \`runtime.call\` cannot wait. Decide such calls at once.`,
  );
}

/** Without a message the cause is not for callers. */
export const handlerFailed = says("handler_failed")((tool, callId: string, message?: string) =>
  message === undefined ? `${tool} failed. ${callCause(callId)}` : message === "" ? `${tool} failed.` : message,
);

export function callCause(callId: string): string {
  return `The cause is in the operator's log, under call ${callId}.`;
}

/** The handler gave a value with its failure, as JSON text: if it has no sentence of its own, the value is the message. */
export function handlerFailedWith(tool: string, value: string, { message }: Pick<Content, "message">): Failure {
  const text = value.startsWith('"') ? (JSON.parse(value) as string) : value;
  return { ...handlerFailed(tool, "", message ?? text), value };
}

export const sourceUnavailable = says("source_unavailable")((_, message: string) => message);

const mayHave = (effect: Effect) => (effect === "read" ? "" : " It may have taken effect.");

export const handlerTimedOut = says("handler_timed_out")(
  (tool, timeoutMs: number, effect: Effect) =>
    `${tool} took longer than ${timeoutMs} ms and was aborted.${mayHave(effect)}`,
);

/**
 * The driver died while the handler ran, and the call is not to be repeated. `isEarlier`: it was not this call that may have
 * taken effect, but an equal one of the execution before.
 */
export const outcomeUnknown = says("outcome_unknown")((tool, isEarlier: boolean) => {
  const what = isEarlier
    ? `An earlier run made the same call of ${tool}, and has no result of it.`
    : `The host stopped while ${tool} ran.`;
  return `${what} It may have taken effect, and it is not repeated. Find out whether it did before you call it again.`;
});

export const resultExpired = says("result_expired")(
  (tool, effect: Effect, waitMs: number) =>
    `No client answered the call of ${tool} within ${waitMs} ms (limit waitMs).${mayHave(effect)} Continue without it.`,
);

const IN_TOOL = "The fault is in the tool, not in the input.";

export const outputInvalid = says("output_invalid")(
  (tool) => `${tool} returned a result that does not match its declared output. ${IN_TOOL}`,
);

/** The handler returned, so it may have done what it was to do. */
export const resultNotJson = says("output_invalid")(
  (tool, callId: string) => `${tool} returned a result that cannot be passed on. ${callCause(callId)}`,
);

/** The operator's text of `outputInvalid`, with the fields. */
export function outputFaults({ name, source }: Tool, faults: string): Error {
  const advice =
    source === undefined
      ? "Mend the handler or the schema."
      : `${source} does not keep to its own schema: mend it there, or pass its results on with \`checkResults: false\` of fromOpenApi.`;
  return new Error(
    `The result of ${name} does not match its declared output: ${cutMiddle(faults, REASON_BYTES)}. ${advice}`,
  );
}

const itemOf = (tool: string, index: number) => `Item ${index} of the stream of ${tool} (counted from 0)`;

export const itemInvalid = says("output_invalid")(
  (tool, index: number) => `${itemOf(tool, index)} does not match the tool's declared output. ${IN_TOOL}`,
);

export function itemFaults({ name }: Tool, index: number, faults: string): Error {
  return new Error(
    `${itemOf(name, index)} does not match its declared output: ${cutMiddle(faults, REASON_BYTES)}. Mend the handler or \`outputSchema\`, which is the schema of one item.`,
  );
}

/** What a handler has yielded is no item. `what` says what it is, and what to yield. */
export function noItem(tool: string, index: number, what: string): Error {
  return new Error(`${itemOf(tool, index)} ${what}.`);
}

export function itemNotJson(tool: string, index: number, cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : describe(cause);
  return new Error(`${itemOf(tool, index)} has no JSON form: ${why}`, { cause });
}

/** A caller that gets an array was to get more than one result may have. */
export const streamTooLarge = says("result_too_large")(
  (tool, items: number, bytes: number, allowed: number) =>
    `The first ${items} items of ${tool} have ${bytes} bytes already, and at most ${allowed} are allowed for one result (limit resultBytes). Ask for less: fewer fields, or a filter. A program reads them as a stream, one after the other.`,
);

export const streamSilent = says("handler_timed_out")(
  (tool, timeoutMs: number, items: number) =>
    `The stream of ${tool} gave nothing for ${timeoutMs} ms after ${items} ${items === 1 ? "item" : "items"}, and was ended.`,
);

export const streamChanged = says("stream_changed")(
  (tool) =>
    `The host stopped while the stream of ${tool} was read. Its items were given again from the first, and they are not those that the program has read. Begin again with a new program.`,
);

const LESS = "Ask for less: fewer fields, a filter, or page by page.";

/** Of an item of a stream, if there is an `index`. */
export const resultTooLarge = says("result_too_large")(
  (tool, limit: "resultBytes" | "resultValues", seen: number, allowed: number, index?: number) =>
    `${index === undefined ? `The result of ${tool}` : itemOf(tool, index)} ${sizeText(limit, seen)} or more, at most ${allowed} are allowed (limit ${limit}). ${LESS}`,
);

/** Its number is not known. Beside its structured content, the message of a server may have fewer: `seen`. */
export const moreThanRead = says("result_too_large")((tool, seen: number | undefined, allowed: number) => {
  const held =
    seen === undefined ? `${allowed} values` : `${seen} values, or its structured content more than ${allowed}`;
  return `The result of ${tool} holds more than ${held} (limit resultValues). ${LESS}`;
});

export const partsTooLarge = says("result_too_large")(
  (tool, bytes: number, allowed: number) =>
    `The images and files in the result of ${tool} have ${bytes} bytes in base64, at most ${allowed} are allowed (limit partBytes). Ask for fewer or smaller ones, or call it from a program, which gets the value without them.`,
);
