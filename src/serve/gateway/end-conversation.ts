import { randomUUID } from "node:crypto";
import { type ExecutionId, now } from "../../base/index.ts";
import { ConversationLog } from "../../conversations/index.ts";
import { cancelPrograms, type PastConversation, readPastConversation } from "../../conversations/from-journal/index.ts";
import { drivenHere, refuseDriven } from "../../executions/driven.ts";
import type { Journal } from "../../journal/journal.ts";
import type { ModelConversation, Model } from "../../models/model.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";

/** How long an execution is claimed to be ended, in milliseconds. */
const LEASE_MS = 15_000;

/** Ends the programs of a conversation that nothing drives, and gives its open calls up. It rests then. */
export async function giveUpCalls(runtime: Runtime, past: PastConversation): Promise<void> {
  const { journal } = runtime;
  const { execution, tenant } = past.header;
  if (drivenHere(journal, execution)) return;
  // Of a conversation that is taken up to be ended, programs are not taken up.
  await cancelPrograms({ journal, leaseMs: LEASE_MS }, past);
  const signal = AbortSignal.abort(new Error("Its client does not go on with it."));
  const options = { model: silent(past.answering.model), allowChangedTools: true };
  await runtime.execution(execution, { tenant }).resume({ ...options, signal, approve: () => "later" });
}

/** Ends a conversation that nothing drives, with its programs. Rejects with `execution_driven`, and as the journal does. */
export async function endConversation(journal: Journal, execution: ExecutionId, tenant: string): Promise<void> {
  const past = await readPastConversation(journal, execution, tenant);
  if (past.outcome) return;
  await refuseDriven(journal, execution);
  const outcome = past.rest?.ending ?? JSON.stringify({ type: "cancelled" });
  const driver = { driver: randomUUID(), leaseMs: LEASE_MS };
  const log = await ConversationLog.claim(journal, past.state, driver, [{ type: "outcome", outcome, at: now() }]);
  await log.end(true);
  await cancelPrograms({ journal, leaseMs: LEASE_MS }, past);
}

/** Stands for the model of a conversation that is only to be ended. */
export function silent(name: string): Model {
  return { name, hostsPrograms: false, converse: async () => SILENT };
}

const SILENT: ModelConversation = {
  say: () => {},
  answer: () => {},
  restore: () => {},
  turn: async () => ({ type: "aborted" }),
};
