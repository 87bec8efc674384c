import { refuseWrongResultsOf } from "../agent/from-journal/decide-conversation.ts";
import { readOwnConversation } from "../agent/from-journal/past-conversation.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";
import { type ClientResult, openCallsOf, recordsOf, refuseWrongResults } from "../programs/decide.ts";
import { findOwn, readOwn } from "../programs/from-journal/past-execution.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { decide } from "./decide.ts";

export interface AnswerScope {
  readonly journal: Journal;
  readonly tenant: string;
  readonly tools: ToolSet;
}

/**
 * Notes results of calls that a client answers, without driving their execution. Rejects as `decide` does, and with
 * `option_invalid` for a result that does not fit the output of its tool.
 */
export async function answer(
  scope: AnswerScope,
  execution: ExecutionId,
  results: Readonly<Record<string, ClientResult>>,
): Promise<void> {
  const { tools } = scope;
  const { kind } = await findOwn(scope, execution);
  if (kind === "conversation")
    await refuseWrongResultsOf(await readOwnConversation(scope, execution), { results }, tools);
  else {
    const { state, header } = await readOwn(scope, execution);
    const find = openCallsOf(state);
    await refuseWrongResults(recordsOf(find, header, { results }), find, tools.visibleTo(["programmatic"]));
  }
  await decide(scope, execution, { results });
}
