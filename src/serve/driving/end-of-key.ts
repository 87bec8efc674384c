import { readList, readHeader } from "../../journal/reading/read-records.ts";
import type { ExecutionSummary } from "../../journal/journal.ts";
import { isDriven } from "../../programs/driven.ts";
import type { CurrentKeys } from "../current-keys.ts";
import { silent } from "../gateway/end-conversation.ts";
import type { Key } from "../http/keys.ts";
import { type Driving, isOthers } from "./driving.ts";
import type { DrivingParts } from "./local-driving.ts";

export interface EndingParts extends Pick<DrivingParts, "runtime" | "runs" | "onEvent" | "onError"> {
  readonly keys: Pick<CurrentKeys, "now">;
  readonly driving: Pick<Driving, "ask">;
}

/**
 * Ends the executions of a key that holds no more, as far as its signal does not reach them: those that other processes drive
 * and, if no other key has its id, those that wait. A conversation that rests stays as it is: nothing of it runs, and nothing goes on with it.
 */
export async function endOfKey(parts: EndingParts, { id, tenant }: Pick<Key, "id" | "tenant">): Promise<void> {
  const { runtime, runs, keys, driving, onError } = parts;
  const { journal } = runtime;
  const isGone = keys.now({ key: id }, tenant).signal.aborted;
  const asking: Promise<boolean>[] = [];
  for await (const summary of readList(journal, { open: true, tenant })) {
    const { execution } = summary;
    const { owner, parent } = (await readHeader(journal, execution, { tenant })) ?? {};
    if (owner?.key !== id || parent || runs.has(execution)) continue;
    if (isDriven(journal, summary)) asking.push(driving.ask(execution, "revoke"));
    else if (isGone)
      await end(parts, summary).catch((error: unknown) => {
        if (!isOthers(error)) onError(error);
      });
  }
  await Promise.all(asking);
}

/** It is driven by what its key may do now, which is nothing. */
async function end({ runtime, onEvent }: EndingParts, { execution, tenant, kind }: ExecutionSummary): Promise<void> {
  const options = { tenant, onEvent, approve: () => "later" as const, allowChangedTools: true };
  if (kind === "program") await runtime.resume(execution, options);
  const { conversation } = kind === "conversation" ? await runtime.status(execution, { tenant }) : {};
  if (conversation) await runtime.resumeAgent(execution, { ...options, model: silent(conversation.model) });
}
