import { cancelPrograms, readPastConversation } from "../../agent/from-journal/past-conversation.ts";
import { drivenHere } from "../../programs/driven.ts";
import type { ExecutionId } from "../../journal/execution-id.ts";
import type { Conversation, Model } from "../../models/model.ts";
import type { ApiParts } from "../api/parts.ts";

export interface Ending {
  readonly execution: ExecutionId;
  readonly tenant: string;
  /** The model that answers in it. It is not asked, and need not be there any more. */
  readonly model: string;
  readonly hasOpenCalls: boolean;
}

/** How long a program is claimed to be ended, in milliseconds. */
const LEASE_MS = 15_000;

/** Ends the programs of a conversation that nothing drives, and gives its open calls up. It rests then. */
export async function giveUpCalls({ runtime }: Pick<ApiParts, "runtime">, { execution, tenant, model }: Ending) {
  const { journal } = runtime;
  if (drivenHere(journal, execution)) return;
  // Of a conversation that is taken up to be ended, programs are not taken up.
  await cancelPrograms({ journal, leaseMs: LEASE_MS }, await readPastConversation(journal, execution, tenant));
  const signal = AbortSignal.abort(new Error("Its client does not go on with it."));
  const options = { model: silent(model), tenant, allowChangedTools: true };
  await runtime.resumeAgent(execution, { ...options, signal, approve: () => "later" });
}

/** Ends a conversation that nothing drives, with its programs. */
export async function endConversation(parts: Pick<ApiParts, "runtime">, ending: Ending): Promise<void> {
  const { execution, tenant, model } = ending;
  if (ending.hasOpenCalls) await giveUpCalls(parts, ending);
  const options = { model: silent(model), tenant, allowChangedTools: true };
  const talk = await parts.runtime.converse({ ...options, continue: execution });
  await talk[Symbol.asyncDispose]();
}

/** Stands for the model of a conversation that is only to be ended. */
export function silent(name: string): Model {
  return { name, hostsPrograms: false, converse: async () => SILENT };
}

const SILENT: Conversation = {
  say: () => {},
  answer: () => {},
  restore: () => {},
  declare: () => {},
  turn: async () => ({ type: "aborted" }),
};
