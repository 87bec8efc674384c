import { childExecution } from "../../conversations/calls/child-execution.ts";
import { decideConversation, refuseWrongResultsOf } from "../../conversations/decide-conversation.ts";
import { readOwnConversation } from "../../conversations/from-journal/past-conversation.ts";
import { type ExecutionId, hasCode, type PortcullisError } from "../../base/index.ts";
import { findIfKnown } from "../../journal/find-if-known.ts";
import type { Journal } from "../../journal/journal.ts";
import { NO_ITEMS, readRecords } from "../../journal/reading/read-records.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import type { ToolSet } from "../../tools/tool-set.ts";
import { findOwn, readOwn } from "../../executions/from-journal/past-execution.ts";
import {
  type ClientResult,
  decide as decideProgram,
  decisionExists,
  decidableOf,
  type DecideScope,
  recordsOf,
  refuseWrongResults,
  type DecisionInput,
} from "../../executions/decide.ts";

/** Notes decisions and results for calls of an execution or a conversation that wait, without driving it. Rejects as `resume` does. */
export async function decideFor(scope: DecideScope, execution: ExecutionId, input: DecisionInput): Promise<void> {
  const { journal } = scope;
  const { kind } = await findOwn(scope, execution);
  const note = kind === "conversation" ? decideConversation : decideProgram;
  try {
    await note(scope, execution, input);
  } catch (error) {
    if (!hasCode(error, "call_unknown")) throw error;
    throw (await decidedBefore(journal, execution, Object.keys(input.decisions ?? {}))) ?? error;
  }
}

/**
 * Notes results of calls that a client answers, without driving their execution. Rejects as `decide` does, and with
 * `option_invalid` for a result that does not fit the output of its tool.
 */
export async function answer(
  scope: DecideScope & { readonly tools: ToolSet },
  execution: ExecutionId,
  results: Readonly<Record<string, ClientResult>>,
): Promise<void> {
  const { tools } = scope;
  const { kind } = await findOwn(scope, execution);
  if (kind === "conversation") {
    const past = await readOwnConversation(scope, execution);
    // Of a surface's client: the tools are the client's own.
    if (!past.header.owner?.surface) await refuseWrongResultsOf(past, { results }, tools);
  } else {
    const past = await readOwn(scope, execution, NO_ITEMS);
    const about = decidableOf(past, past.header);
    const records = await recordsOf(about, { results });
    await refuseWrongResults(records, about.find, tools.visibleTo(["programmatic"]));
  }
  await decideFor(scope, execution, { results });
}

/** The error about the first of these calls that was decided before and has gone on since; undefined if none was. */
async function decidedBefore(
  journal: Journal,
  execution: ExecutionId,
  ids: readonly string[],
): Promise<PortcullisError | undefined> {
  // Each journal is read once, however many calls are asked about.
  const owners = Map.groupBy(ids, (id) => id.slice(0, Math.max(0, id.indexOf("/"))));
  for (const [parent, own] of owners) {
    const owner = parent === "" ? execution : childExecution(execution, parent);
    if (parent !== "" && !(await findIfKnown(journal, owner))) continue;
    const error = await firstDecided(journal, owner, new Map(own.map((id) => [id.slice(id.indexOf("/") + 1), id])));
    if (error) return error;
  }
  return undefined;
}

/** `ids` are the ids that the caller gave, by call. */
async function firstDecided(
  journal: Journal,
  owner: ExecutionId,
  ids: ReadonlyMap<string, string>,
): Promise<PortcullisError | undefined> {
  const tools = new Map<string, string>();
  const { tenant } = await journal.find(owner);
  for await (const record of readRecords(journal, owner, { tenant })) {
    const call = "call" in record ? record.call : undefined;
    const id = call === undefined ? undefined : ids.get(call);
    if (call === undefined || id === undefined) continue;
    if (record.type === "call") tools.set(call, record.tool);
    if (record.type === "decision") return decisionExists(id, tools.get(call) ?? RUN_PROGRAM, record);
  }
  return undefined;
}
