import type { ExecutionId } from "../base/index.ts";
import type { OutsideRecord } from "../gate/approve/call-waits.ts";
import { isHeadMoved } from "../journal/execution-log.ts";
import { grantsIn } from "../gate/approve/remembered.ts";
import {
  decidableOf,
  decide,
  type DecideScope,
  type FindCall,
  recordsOf,
  refuseWrongResults,
  type DecisionInput,
} from "../executions/decide.ts";
import { drivenHere } from "../executions/driven.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { childExecution } from "./calls/child-execution.ts";
import { type PastConversation, readOwnConversation } from "./from-journal/past-conversation.ts";

/** Notes decisions and results for calls of a conversation and of its programs, whose ids begin with the id of their program's call. */
export async function decideConversation(
  scope: DecideScope,
  execution: ExecutionId,
  input: DecisionInput,
): Promise<void> {
  for (;;) {
    const past = await readOwnConversation(scope, execution);
    const records = await recordsOfConversation(past, input);
    scope.signal?.throwIfAborted();
    try {
      if (records.length > 0) await scope.journal.append(execution, past.records, records, { safe: true });
      // A driver in another process reads them when it renews its lease.
      await drivenHere(scope.journal, execution)?.log.catchUp();
      return await noteInPrograms(scope, execution, input);
    } catch (error) {
      // Its driver, or another person, has appended in the meantime.
      if (!isHeadMoved(error)) throw error;
    }
  }
}

/** The records for the conversation's own calls. Rejects with `call_unknown` or `decision_exists`, also for calls of its programs. */
export async function recordsOfConversation(
  past: PastConversation,
  input: DecisionInput,
): Promise<readonly OutsideRecord[]> {
  return (await recordsOfAll(past, input))[0].records;
}

/** Rejects with `option_invalid` if a client's result does not fit the output of its tool, also for calls of its programs. */
export async function refuseWrongResultsOf(
  past: PastConversation,
  input: DecisionInput,
  tools: ToolSet,
): Promise<void> {
  const [own, ...programs] = await recordsOfAll(past, input);
  await refuseWrongResults(own.records, own.find, tools.all);
  for (const { records, find } of programs) await refuseWrongResults(records, find, tools.visibleTo(["programmatic"]));
}

interface SaidRecords {
  readonly find: FindCall;
  readonly records: readonly OutsideRecord[];
}

async function recordsOfAll(
  { header, open, outcome, use }: PastConversation,
  input: DecisionInput,
): Promise<readonly [own: SaidRecords, ...programs: SaidRecords[]]> {
  const { own, programs } = parted(input);
  const isOpen = outcome === undefined;
  const below: SaidRecords[] = [];
  for (const [callId, ofProgram] of programs) {
    const program = isOpen ? open.get(callId)?.program : undefined;
    const about = program
      ? decidableOf(program, { ...header, execution: childExecution(header.execution, callId) })
      : { header, find: () => undefined, grants: 0 };
    below.push({ find: about.find, records: await recordsOf(about, ofProgram) });
  }
  const find: FindCall = (id) => (isOpen ? open.get(id) : undefined);
  return [{ find, records: await recordsOf({ header, find, grants: grantsIn(use.remembered ?? []) }, own) }, ...below];
}

/** Notes what is said of the calls of programs, of which `recordsOfConversation` has not rejected any. */
export async function noteInPrograms(scope: DecideScope, execution: ExecutionId, input: DecisionInput): Promise<void> {
  for (const [callId, below] of parted(input).programs) await decide(scope, childExecution(execution, callId), below);
}

/** Decisions and results for the conversation's own calls, and for each program's calls by the id of the program's call. */
function parted({ decisions = {}, results = {} }: DecisionInput): {
  readonly own: DecisionInput;
  readonly programs: ReadonlyMap<string, DecisionInput>;
} {
  const ofDecisions = partedById(decisions);
  const ofResults = partedById(results);
  const saidOf = (callId: string): DecisionInput => ({
    decisions: withoutPrefix(ofDecisions.get(callId)),
    results: withoutPrefix(ofResults.get(callId)),
  });
  const callIds = new Set([...ofDecisions.keys(), ...ofResults.keys()].filter((callId) => callId !== OWN));
  return { own: saidOf(OWN), programs: new Map([...callIds].map((callId) => [callId, saidOf(callId)])) };
}

const OWN = "";

function partedById<Value>(values: Readonly<Record<string, Value>>): ReadonlyMap<string, (readonly [string, Value])[]> {
  return Map.groupBy(Object.entries(values), ([id]) => id.slice(0, Math.max(0, id.indexOf("/"))));
}

function withoutPrefix<Value>(part: readonly (readonly [string, Value])[] = []): Readonly<Record<string, Value>> {
  return Object.fromEntries(part.map(([id, value]) => [id.slice(id.indexOf("/") + 1), value]));
}
