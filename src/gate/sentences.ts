import { isUint8Array } from "node:util/types";
import { cutMiddle, describe, PortcullisError } from "../base/index.ts";
import { Content } from "../tools/content.ts";
import type { Effect, Tool } from "../tools/tool.ts";
import { jsonSchemaOf } from "../tools/tool-schemas.ts";
import { shortTypeText } from "../tools/declarations/type-text.ts";
import type { Failure, FailureCode, Refusal, RefusalCode } from "./answer.ts";
import type { Overdraft } from "./admit/budget.ts";

/*
 * Messages for calls that return no value. The reader is a program or the model that wrote it. Each message says what
 * was wrong and what to do next, and holds no detail of the host.
 */

/** Maximum bytes of a message, without the line that says how much was left out. */
const MESSAGE_BYTES = 4096;
/** Maximum bytes of an input's faults. The tool's input type follows them. */
const REASON_BYTES = 2048;
/** Maximum characters of a quoted name. Names of tools are shorter. */
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

export function toolUnknown(name: string, meant: string | undefined) {
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  return refusal("tool_unknown", name, `There is no tool ${JSON.stringify(shortName(name))}.${hint}`);
}

export function callerNotAllowed(tool: Tool) {
  const way = tool.allowedCallers.includes("programmatic")
    ? "from a program: write a program that calls it"
    : "directly: call it outside of a program";
  return refusal("caller_not_allowed", tool.name, `${tool.name} can only be called ${way}.`);
}

export function budgetSpent(tool: string, overdraft: Overdraft) {
  return refusal("budget_spent", tool, overdraftText(tool, overdraft));
}

/** As many streams of a tool are open in one program as the tool may have calls. */
export function streamsAtOnce(tool: string, concurrency: number) {
  return refusal(
    "budget_spent",
    tool,
    `${tool} may have ${concurrency} ${concurrency === 1 ? "call" : "calls"} at once, and as many of its streams are open in this program. Read one to its end, or leave its loop, before you open another.`,
  );
}

/** The handler ran, and its result exceeds the bytes that the execution may hold or move. */
export function resultOverBudget(tool: string, overdraft: Overdraft) {
  return failure("result_over_budget", tool, overdraftText(tool, overdraft));
}

function overdraftText(tool: string, { limit, allowed, seen }: Overdraft): string {
  switch (limit) {
    case "calls":
      return `This execution may make ${allowed} calls (limit calls), and has used them all. Return what you have, or fetch more with each call.`;
    case "inputBytes":
      return `The input of ${tool} has ${seen} bytes, at most ${allowed} are allowed for one call (limit inputBytes). Pass less, or split it into several calls.`;
    case "artifactBytes":
      return `The value has ${seen} bytes, and one that is kept may have ${allowed} (limit artifactBytes). Keep less, or split it into several.`;
    case "artifacts":
      return `Values are kept under ${allowed} names already (limit artifacts). Use one of these names again, or keep several values in one.`;
    case "inputValues":
      return `The input of ${tool} holds ${seen} values, at most ${allowed} are allowed for one call (limit inputValues). Pass less, or split it into several calls.`;
    case "streams":
      return `At most ${allowed} ${allowed === 1 ? "stream" : "streams"} may be open at once (limit streams). Read one to its end, or leave its loop, before you open another.`;
    case "streamBytes":
      return `The items of one stream may take ${allowed} bytes in all (limit streamBytes), and ${tool} has more. Leave the loop earlier, or ask for less: fewer fields, or a filter.`;
    case "totalBytes":
      return `The inputs and results of this execution may take ${allowed} bytes in all (limit totalBytes), and ${tool} would bring them to ${seen}. Return what you have, or ask tools for less.`;
    case "heldBytes":
      return `The executions of this runtime share one memory allowance (the runtime's heldBytes). This one may hold ${allowed} bytes now, and ${tool} would bring it to ${seen}. Make fewer calls at once, ask tools for less, or try again later.`;
  }
}

export function inputInvalid(tool: Tool, reason: string) {
  const type = shortTypeOf(tool);
  const expected = type === "" ? "" : ` It takes ${type}.`;
  const sentence = `The input of ${tool.name} does not fit: ${cutMiddle(reason, REASON_BYTES)}`;
  return refusal("input_invalid", tool.name, `${sentence}${sentence.endsWith("?") ? "" : "."}${expected}`);
}

/** The client would be given another input than the caller has sent. */
export function inputRedacted(tool: Tool) {
  return inputInvalid(tool, "secrets are taken out of what its client is given. Call it without them");
}

/** Cached: a schema may have thousands of fields, and a program may make thousands of invalid calls. */
const shortTypes = new WeakMap<Tool, string>();

function shortTypeOf(tool: Tool): string {
  const short = shortTypes.get(tool) ?? shortTypeText(jsonSchemaOf(tool.name, "input", tool.inputSchema));
  shortTypes.set(tool, short);
  return short;
}

/** The reason is the policy's text, which is quoted for the same reason as an approver's note. */
export function policyDenied(tool: string, reason: string) {
  return refusal(
    "policy_denied",
    tool,
    `The policy of the host refuses this call of ${tool}. Continue without it. Reason given: ${JSON.stringify(reason)}`,
  );
}

/** The note is the approver's text. It is quoted as JSON, so that it cannot be mistaken for the gate's own sentences. */
export function approvalDenied(tool: string, note?: string) {
  const quoted = note === undefined || note === "" ? "" : ` Reason given: ${JSON.stringify(note)}`;
  return refusal(
    "approval_denied",
    tool,
    `The call of ${tool} needs approval, and approval was denied. Continue without it.${quoted}`,
  );
}

export function approvalExpired(tool: string, waitMs: number) {
  return refusal(
    "approval_expired",
    tool,
    `The call of ${tool} needs approval, and no decision came within ${waitMs} ms (limit waitMs). Continue without it.`,
  );
}

/** There is no approver, or it has failed: nothing is decided. */
export function approvalUnavailable(tool: string) {
  return refusal(
    "approval_unavailable",
    tool,
    `The call of ${tool} needs approval, and approval is not available here. Continue without it.`,
  );
}

export function policyUnavailable(tool: string) {
  return refusal(
    "policy_unavailable",
    tool,
    `The policy of the host must allow this call of ${tool}, and it did not answer. Continue without it.`,
  );
}

/** The operator's text of `approvalUnavailable`. */
export function approveMissing(tool: string): PortcullisError {
  return new PortcullisError(
    "option_invalid",
    `${tool} needs approval for this call, and there is no \`approve\`: pass one to createRuntime, or to execute, agent, call or asTool; or define the tool with approval: "never".`,
  );
}

/** For the operator: `approve` returned no decision. */
export function approveUndecided(tool: string, answer: unknown): PortcullisError {
  return new PortcullisError(
    "callback_failed",
    `\`approve\` gave no decision about ${tool}: expected true, false, { allow: true | false } or "later", got ${describe(answer)}.`,
  );
}

/** For the operator: `policy` took too long. */
export function policyLate(tool: string, ms: number): PortcullisError {
  return new PortcullisError(
    "callback_failed",
    `\`policy\` gave no answer about ${tool} within ${ms} ms, so the call was refused. For a decision that takes longer, answer "ask".`,
  );
}

/** For the operator: `policy` gave something else. */
export function policyUndecided(tool: string, answer: unknown): PortcullisError {
  return new PortcullisError(
    "callback_failed",
    `\`policy\` gave no answer about ${tool}, so the call was refused: expected "allow", "ask" or { deny: "reason" }, got ${describe(answer)}.`,
  );
}

/** For the operator: an approval or a client's result was left for later, but nothing can take the work up again. */
export function cannotWait(tool: string): PortcullisError {
  return new PortcullisError(
    "option_invalid",
    `The call of ${tool} would wait for a later decision or a client's result. Agents that are tools, the programs that they start, and \`runtime.call\` cannot wait. Decide such calls at once.`,
  );
}

export function handlerFailed(tool: string, callId: string, publicMessage: string | undefined) {
  return failure("handler_failed", tool, publicMessage ?? `${tool} failed. ${causeOf(callId)}`);
}

/** Where the operator finds why a handler has failed. */
export function causeOf(callId: string): string {
  return `The cause is in the operator's log, under call ${callId}.`;
}

/** The handler gave a value with its failure, as JSON text: if it has no sentence of its own, the value is the message. */
export function handlerFailedWith(tool: string, value: string, { message }: Pick<Content, "message">): Failure {
  const text = value.startsWith('"') ? (JSON.parse(value) as string) : value;
  return { ...failure("handler_failed", tool, message ?? (text === "" ? `${tool} failed.` : text)), value };
}

export function sourceUnavailable(tool: string, message: string) {
  return failure("source_unavailable", tool, message);
}

export function handlerTimedOut(tool: Tool, { effect }: { readonly effect: Effect }) {
  return failure(
    "handler_timed_out",
    tool.name,
    `${tool.name} took longer than ${tool.timeoutMs} ms and was aborted.${effect === "read" ? "" : " It may have taken effect."}`,
  );
}

/** The driver died while the handler ran, and the call is not to be repeated. */
/** `isEarlier`: it was not this call that may have taken effect, but an equal one of the execution before. */
export function outcomeUnknown(tool: string, isEarlier = false) {
  return failure(
    "outcome_unknown",
    tool,
    `${isEarlier ? `An earlier run made the same call of ${tool}, and has no result of it.` : `The host stopped while ${tool} ran.`} It may have taken effect, and it is not repeated. Find out whether it did before you call it again.`,
  );
}

export function clientFailed(tool: string, message: string) {
  return failure("handler_failed", tool, message === "" ? `${tool} failed.` : message);
}

export function resultExpired(tool: Tool, { effect }: { readonly effect: Effect }, waitMs: number) {
  return failure(
    "result_expired",
    tool.name,
    `No client answered the call of ${tool.name} within ${waitMs} ms (limit waitMs).${effect === "read" ? "" : " It may have taken effect."} Continue without it.`,
  );
}

export function outputInvalid(tool: string) {
  return failure(
    "output_invalid",
    tool,
    `${tool} returned a result that does not match its declared output. The fault is in the tool, not in the input.`,
  );
}

/** The handler returned, so it may have done what it was to do. */
export function resultNotJson(tool: string, callId: string) {
  return failure("output_invalid", tool, `${tool} returned a result that cannot be passed on. ${causeOf(callId)}`);
}

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

export function itemInvalid(tool: string, index: number) {
  return failure(
    "output_invalid",
    tool,
    `Item ${index} of the stream of ${tool} (counted from 0) does not match the tool's declared output. The fault is in the tool, not in the input.`,
  );
}

/** For the operator: what is wrong with an item. */
export function itemFaults({ name, outputSchema: output }: Tool, index: number, faults: string): Error {
  const isOfLists = output !== undefined && jsonSchemaOf(name, "output", output).type === "array";
  const advice = isOfLists
    ? "`outputSchema` is the schema of one item, and here it is that of a list. Mend the schema, or yield lists."
    : "Mend the handler or the schema.";
  return new Error(
    `Item ${index} of the stream of ${name} (counted from 0) does not match its declared output: ${cutMiddle(faults, REASON_BYTES)}. ${advice}`,
  );
}

/** For the operator. */
export function yieldedContent(tool: string, index: number): Error {
  return new Error(`Item ${index} of the stream of ${tool} is made by content(): yield its value alone.`);
}

/** For the operator: an item has no JSON form. */
export function itemNotJson(tool: string, index: number, cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : describe(cause);
  return new Error(`Item ${index} of the stream of ${tool} has no JSON form: ${why}`, { cause });
}

/** For the operator. */
export function yieldedPromise(tool: string, index: number): Error {
  return new Error(`Item ${index} of the stream of ${tool} is a promise: await it before you yield it.`);
}

/** For the operator: an item is a chunk of bytes, of which JSON would make a list of numbers. */
export function yieldedBytes(tool: string, index: number): Error {
  return new Error(
    `Item ${index} of the stream of ${tool} is a chunk of bytes: decode the bytes, and yield values, such as the lines of node:readline.`,
  );
}

/** For the operator. */
export function yieldedNothing(tool: string, index: number): Error {
  return new Error(`Item ${index} of the stream of ${tool} is undefined: yield null for an item without a value.`);
}

/** For the operator: the handler of a stream has ended with a value. */
export function returnedNotYielded(tool: string): Error {
  return new Error(`The handler of ${tool} returned a value at its end: yield each item, and return nothing.`);
}

/** For the operator: the handler of a stream has not returned an iterable. */
export function noItems(tool: string, value: unknown): Error {
  const unusual = Content.is(value) ? "what content() makes" : isUint8Array(value) && "bytes";
  return new Error(
    `The handler of ${tool}, which has \`stream: true\`, returned ${unusual || describe(value)}: make it an async generator (async *handler), or return an iterable of items.`,
  );
}

export function itemTooLarge(tool: string, index: number, bytes: number, allowed: number) {
  return failure(
    "result_too_large",
    tool,
    `Item ${index} of the stream of ${tool} (counted from 0) has ${bytes} bytes or more, at most ${allowed} are allowed for one item (limit resultBytes). Ask for less: fewer fields, or a filter.`,
  );
}

export function itemTooMany(tool: string, index: number, values: number, allowed: number) {
  return failure(
    "result_too_large",
    tool,
    `Item ${index} of the stream of ${tool} (counted from 0) holds ${values} values or more, at most ${allowed} are allowed for one item (limit resultValues). Ask for less: fewer fields, or a filter.`,
  );
}

/** A caller that gets an array was to get more than one result may have. */
export function streamTooLarge(tool: string, items: number, bytes: number, allowed: number) {
  return failure(
    "result_too_large",
    tool,
    `The first ${items} items of ${tool} have ${bytes} bytes already, and at most ${allowed} are allowed for one result (limit resultBytes). Ask for less: fewer fields, or a filter. A program reads them as a stream, one after the other.`,
  );
}

export function streamSilent({ name, timeoutMs }: Tool, items: number) {
  return failure(
    "handler_timed_out",
    name,
    `The stream of ${name} gave nothing for ${timeoutMs} ms after ${items} ${items === 1 ? "item" : "items"}, and was ended.`,
  );
}

export function streamChanged(tool: string) {
  return failure(
    "stream_changed",
    tool,
    `The host stopped while the stream of ${tool} was read. Its items were given again from the first, and they are not those that the program has read. Begin again with a new program.`,
  );
}

/** For the operator: a stream that did not go on has other items than before. */
export function givenAgain(tool: string): Error {
  return new Error(
    `The stream of ${tool} was given again from its first item, with other items than the journal has. Have its handler read \`after\` of its context and yield what follows, or give all items again, in their order.`,
  );
}

export function resultTooMany(tool: string, values: number, allowed: number) {
  return failure(
    "result_too_large",
    tool,
    `The result of ${tool} holds ${values} values or more, at most ${allowed} are allowed for one call (limit resultValues). Ask for less: fewer fields, a filter, or page by page.`,
  );
}

/** Its number is not known. Beside its structured content, the message of a server may have fewer: `seen`. */
export function moreThanRead(tool: string, seen: number | undefined, allowed: number) {
  const held =
    seen === undefined ? `${allowed} values` : `${seen} values, or its structured content more than ${allowed}`;
  return failure(
    "result_too_large",
    tool,
    `The result of ${tool} holds more than ${held} (limit resultValues). Ask for less: fewer fields, a filter, or page by page.`,
  );
}

export function partsTooLarge(tool: string, bytes: number, allowed: number) {
  return failure(
    "result_too_large",
    tool,
    `The images and files in the result of ${tool} have ${bytes} bytes in base64, at most ${allowed} are allowed (limit partBytes). Ask for fewer or smaller ones, or call it from a program, which gets the value without them.`,
  );
}

export function resultTooLarge(tool: string, bytes: number, allowed: number) {
  return failure(
    "result_too_large",
    tool,
    `The result of ${tool} has ${bytes} bytes or more, at most ${allowed} are allowed for one call (limit resultBytes). Ask for less: fewer fields, a filter, or page by page.`,
  );
}
