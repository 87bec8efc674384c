import {
  checkOptions,
  cutMiddle,
  type ExecutionId,
  fieldsOf,
  flag,
  isAnyObject,
  jsonTextOf,
  Lane,
  now,
  object,
  oneOf,
  option,
  optionError,
  type OptionsOf,
  parsedJson,
  PortcullisError,
  REMEDIES,
  type SlicedWork,
  text,
  thrownMessage,
  wholeNumber,
} from "../base/index.ts";
import { isHeadMoved } from "../journal/execution-log.ts";
import { NO_ITEMS } from "../journal/reading/read-records.ts";
import type { DecisionRecord, Header, ResultRecord } from "../journal/record.ts";
import { BY_LENGTH, detailsOf, NOTE_LENGTH } from "../gate/approve/approval.ts";
import { type Grant, MAX_GRANTS, readGrant, tooManyGrants } from "../gate/approve/grant-terms.ts";
import { grantsIn } from "../gate/approve/remembered.ts";
import type { OutsideRecord } from "../gate/approve/call-waits.ts";
import { issuesText, type Schema, validate } from "../tools/schema.ts";
import { RUN_PROGRAM } from "../tools/tool-name.ts";
import type { Tool } from "../tools/tool.ts";
import { drivenHere } from "./driven.ts";
import { callOfId, type ExecutionState, shownText, type UnansweredCall } from "./from-journal/execution-state.ts";
import { type Past, readOwn } from "./from-journal/past-execution.ts";
import type { Scope } from "./scope.ts";
import { holdOf, isExpired, isWaiting } from "./from-journal/call-history.ts";
import { waitingFor } from "./from-journal/standing.ts";
import type { WaitingApproval } from "./outcome.ts";
import { shownWaiting } from "./redact-execution.ts";

export const HOLD = wholeNumber({ min: 1, max: Number.MAX_SAFE_INTEGER, default: 1 });

/** The fields of a decision. Others are refused: the first decision holds, so a misspelt field could not be corrected later. */
export const DECISION_FIELDS = {
  /** Whether the call may run, or run again. */
  allow: flag(),
  /**
   * `hold` of the waiting call; 1 by default. A call whose host has died waits again, and a decision that is sent twice then
   * decides nothing: it is about the time before.
   */
  hold: HOLD,
  /** The call was done elsewhere, with this result; of a stream, the list of all its items. Only for a call whose outcome is unknown. */
  done: object<{ readonly value: unknown }>("{ value }"),
  /** Who decided; for the journal. */
  by: text({ minLength: 0, maxLength: BY_LENGTH, expected: `a string of at most ${BY_LENGTH} characters` }),
  /** For the journal; the program reads the note of a denial. */
  note: text({ minLength: 0, maxLength: NOTE_LENGTH, expected: `a string of at most ${NOTE_LENGTH} characters` }),
  /**
   * Decides later calls of the execution with the same tool and the same input alike; an input that a schema converts counts
   * as it was sent. Not for a call whose outcome is unknown.
   */
  remember: oneOf(["execution"]),
  /** Allows further calls of the same tool in the execution, beside this one. Not for a call whose outcome is unknown. */
  grant: object<Grant>('an object like { calls: 20, sums: { "/amount": 500 } }'),
};

/** A decision about a call that waits. */
export type Decision = OptionsOf<typeof DECISION_FIELDS>;

/** The result of a call that a client answers. */
export type ClientResult = { readonly value: unknown } | { readonly error: string };

/** A result with the number by which what the client wrote is known again. */
export type MarkedResult = ClientResult & { readonly mark?: number };

export interface DecisionInput {
  readonly decisions?: Readonly<Record<string, Decision>> | undefined;
  readonly results?: Readonly<Record<string, ClientResult>> | undefined;
}

export interface DecideScope extends Pick<Scope, "journal" | "tenant"> {
  /** Nothing is noted once it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** Notes decisions about calls that wait, without driving the execution. Rejects as `resume` does. */
export async function decide(scope: DecideScope, execution: ExecutionId, input: DecisionInput): Promise<void> {
  for (;;) {
    const past = await readOwn(scope, execution, NO_ITEMS);
    const records = await recordsOf(decidableOf(past, past.header), input);
    scope.signal?.throwIfAborted();
    try {
      await scope.journal.append(execution, past.state.records, records, { safe: true });
      // A driver in another process reads them when it renews its lease.
      return await drivenHere(scope.journal, execution)?.log.catchUp();
    } catch (error) {
      // Its driver, or another person, has appended in the meantime.
      if (!isHeadMoved(error)) throw error;
    }
  }
}

/** A call that waits for a person, also one that a report has no room to list; undefined if it does not wait. */
export async function waitingApproval(
  scope: Pick<Scope, "journal" | "tenant" | "redactor">,
  execution: ExecutionId,
  id: string,
): Promise<WaitingApproval | undefined> {
  const { state } = await readOwn(scope, execution, NO_ITEMS);
  const call = openCallsOf(state)(id);
  if (!call || !isWaiting(call)) return undefined;
  return (await shownWaiting(waitingFor([call], execution), scope.redactor)).approvals[0];
}

export type FindCall = (id: string) => UnansweredCall | undefined;

function openCallsOf(state: ExecutionState): FindCall {
  const { end, own, turns } = state;
  return (id) => {
    if (end.outcome !== undefined) return undefined;
    if (own && own.id === id) return turns === 0 ? own : undefined;
    return callOfId(state, id);
  };
}

interface Decidable {
  readonly header: Pick<Header, "execution" | "limits" | "tenant">;
  readonly find: FindCall;
  readonly grants: number;
}

export function decidableOf({ state, remembered }: Pick<Past, "state" | "remembered">, header: Decidable["header"]) {
  return { header, find: openCallsOf(state), grants: grantsIn(remembered) };
}

/**
 * The records of decisions and results. Rejects with `call_unknown`, `decision_exists`, or `approval_expired` for a call that has
 * waited too long.
 */
export async function recordsOf(about: Decidable, input: DecisionInput): Promise<readonly OutsideRecord[]> {
  return new Lane(about.header.tenant).work(recordsSliced(about, input));
}

function* recordsSliced(
  { header, find: findCall, grants }: Decidable,
  { decisions = {}, results = {} }: DecisionInput,
): SlicedWork<readonly OutsideRecord[]> {
  const at = now();
  const { execution, limits } = header;
  const records: OutsideRecord[] = [];
  const find = (id: string): UnansweredCall => {
    const call = findCall(id);
    if (!call)
      throw new PortcullisError(
        "call_unknown",
        `Execution ${JSON.stringify(execution)} has no open call ${JSON.stringify(id)}: it has been answered, or there was none. ${REMEDIES.call_unknown}`,
      );
    if (!isExpired(header, call)) return call;
    throw new PortcullisError(
      "approval_expired",
      `Call ${id} of ${call.tool} has waited for longer than its execution allows (limit waitMs: ${limits.waitMs} ms). Nothing was noted. Resume the execution without an answer for it: the program gets an error, and continues.`,
    );
  };
  let room = MAX_GRANTS - grants;
  for (const [id, decision] of Object.entries(decisions)) {
    const record = decisionRecord(find(id), decision, at);
    if (record.grant && (room -= 1) < 0) throw tooManyGrants(`${placeOf(id)}.grant`);
    records.push(record);
    yield;
  }
  for (const [id, result] of Object.entries(results)) {
    records.push(resultRecord(find(id), result, at));
    yield;
  }
  return records;
}

function placeOf(call: string): string {
  return `decisions[${JSON.stringify(call)}]`;
}

const RESULT_FIELDS = {
  value: option<unknown>("a value that JSON can hold", () => true),
  error: text({ expected: "a sentence for the program" }),
  mark: wholeNumber({ min: 0 }),
};

function decisionRecord(call: UnansweredCall, options: Decision, at: number): DecisionRecord {
  const { id, tool, ruling, decision } = call;
  const waitsIn = holdOf(call);
  const place = placeOf(String(id));
  if (!isAnyObject(options)) throw optionError(place, "an object like { allow: true }", options);
  const { allow, hold = 1, done, remember, grant } = checkOptions(fieldsOf(place), options, DECISION_FIELDS);
  if (decision) throw decisionExists(String(id), tool, decision);
  if (ruling?.decision !== "held")
    throw new PortcullisError("call_unknown", `Call ${id} of ${tool} does not wait for a decision.`);
  if (hold !== waitsIn)
    throw new PortcullisError(
      "decision_exists",
      `The decision is about hold ${hold} of call ${id} of ${tool}, which waits in hold ${waitsIn}. Look at what it waits for now, and give hold ${waitsIn} with a decision about that.`,
    );
  if (done !== undefined && ruling.code !== "outcome_unknown")
    throw new PortcullisError(
      "call_unknown",
      `Call ${id} of ${tool} was not begun: allow or deny it, without \`done\`.`,
    );
  if (remember !== undefined && ruling.code === "outcome_unknown")
    throw optionError(`${place}.remember`, '"execution", for a call that was not begun', remember);
  if (grant !== undefined && (allow !== true || ruling.code === "outcome_unknown" || tool === RUN_PROGRAM))
    throw optionError(
      `${place}.grant`,
      "to be left out, but for a call of a tool that is allowed and was not begun",
      grant,
    );
  if (done === undefined && allow === undefined) throw optionError(`${place}.allow`, "true or false", allow);
  if (done !== undefined && allow === false) throw optionError(`${place}.allow`, "true, or none, beside done", allow);
  return {
    type: "decision",
    call: String(id),
    allow: done !== undefined || allow === true,
    ...detailsOf(options),
    grant: grant && readGrant(`${place}.grant`, grant, parsedJson(shownText(call))),
    done: done && requiredText(done.value, `${place}.done.value`),
    at,
  };
}

export function decisionExists(
  id: string,
  tool: string,
  { allow, by, done }: Pick<DecisionRecord, "allow" | "by" | "done">,
): PortcullisError {
  const how = done === undefined ? (allow ? "allowed" : "denied") : "said to be done";
  return new PortcullisError(
    "decision_exists",
    `Call ${id} of ${tool} was decided already${by === undefined ? "" : `, by ${by}`}: ${how}. The first decision holds.`,
  );
}

function resultRecord(call: UnansweredCall, options: ClientResult, at: number): ResultRecord {
  const { id, tool, ruling, result } = call;
  const place = `results[${JSON.stringify(String(id))}]`;
  const expected = "{ value } or { error }";
  if (!isAnyObject(options)) throw optionError(place, expected, options);
  const { value, error, mark } = checkOptions<typeof RESULT_FIELDS>(fieldsOf(place), options, RESULT_FIELDS);
  if (value !== undefined && error !== undefined) throw optionError(place, expected, options);
  if (ruling?.decision !== "client")
    throw new PortcullisError("call_unknown", `Call ${id} of ${tool} does not wait for a client's result.`);
  if (result)
    throw new PortcullisError("decision_exists", `Call ${id} of ${tool} has its result already. The first one holds.`);
  const base = { type: "result", call: String(id), mark, at } as const;
  return error === undefined ? { ...base, value: requiredText(value, `${place}.value`) } : { ...base, error };
}

function requiredText(value: unknown, option: string): string {
  const text = jsonTextOf(value);
  if (text === undefined) throw optionError(option, "a value that JSON can hold", value);
  return text;
}

const FAULTS_BYTES = 2048;

/**
 * Rejects with `option_invalid` if a client's result does not fit the output schema of its tool, or what is said of a
 * stream that was done is no list of its items. Nothing is journalled then: the call waits on, and another value can be sent.
 */
export async function refuseWrongResults(
  records: readonly OutsideRecord[],
  findCall: FindCall,
  tools: readonly Tool[],
): Promise<void> {
  const toolsByName = new Map(tools.map((tool) => [tool.name, tool]));
  for (const record of records) {
    const name = findCall(record.call)?.tool ?? "";
    const tool = toolsByName.get(name);
    const isResult = record.type === "result";
    const text = isResult ? record.value : tool?.stream ? record.done : undefined;
    if (!tool || text === undefined) continue;
    const faults = await faultsOf(tool, JSON.parse(text));
    if (faults === undefined) continue;
    const place = `${isResult ? "results" : "decisions"}[${JSON.stringify(record.call)}]${isResult ? "" : ".done"}`;
    throw new PortcullisError(
      "option_invalid",
      `${place}.value does not match the output of ${name}: ${cutMiddle(faults, FAULTS_BYTES)}. Nothing was noted: the call still waits.`,
    );
  }
}

async function faultsOf({ outputSchema: output, stream }: Tool, value: unknown): Promise<string | undefined> {
  if (!stream) return output && schemaFaults(output, value);
  if (!Array.isArray(value)) return "the tool gives a stream, so the value is the list of all its items";
  if (!output) return undefined;
  for (const [index, item] of value.entries()) {
    const faults = await schemaFaults(output, item);
    if (faults !== undefined) return `item ${index}: ${faults}`;
  }
  return undefined;
}

async function schemaFaults(output: Schema, value: unknown): Promise<string | undefined> {
  try {
    const validated = await validate(output, value);
    return validated.ok ? undefined : issuesText(validated.issues);
  } catch (error) {
    return thrownMessage(error);
  }
}
