import type { ExecutionId } from "../../../journal/execution-id.ts";
import { isHeadMoved } from "../../../journal/execution-log.ts";
import { drivenHere } from "../../../programs/driven.ts";
import { findOwn } from "../../../programs/from-journal/past-execution.ts";
import type { Key } from "../../http/keys.ts";
import { RequestProblem } from "../../http/problems.ts";
import { jsonAnswer } from "../json-answer.ts";
import { type ApiParts, type ApiRequest, ownExecution } from "../parts.ts";
import { statusAnswer } from "./show.ts";

/** How often it is tried against others who append to the same execution. */
const TRIES = 10;

/** `POST /v1/executions/:id/cancel`: ends an execution, and answers what it has come to. An execution that has ended stays as it is. */
export async function cancel(parts: ApiParts, { key, id }: ApiRequest<unknown, unknown>): Promise<Response> {
  const own = await ownExecution(parts, key, id);
  for (let tries = 1; !(await isEnded(parts, key, own)); tries += 1)
    try {
      if (parts.runs.has(own)) await parts.runs.cancel(own);
      else if (!(await cancelLeft(parts, key, own))) continue;
      break;
    } catch (error) {
      // Another client has said something about it, or has cancelled it too.
      if (tries === TRIES || !isHeadMoved(error)) throw error;
    }
  return jsonAnswer(key, await statusAnswer(parts, key, own));
}

async function isEnded({ runtime }: ApiParts, { tenant }: Key, id: ExecutionId): Promise<boolean> {
  return (await findOwn({ journal: runtime.journal, tenant }, id)).ended;
}

/** Ends an open execution that no driver has here: it is taken up only to be ended. False if it has begun to run here meanwhile. */
async function cancelLeft({ runtime, runs, models, onEvent }: ApiParts, key: Key, id: ExecutionId): Promise<boolean> {
  const { tenant } = key;
  const { listed, conversation } = await runtime.status(id, { tenant });
  if (listed.state === "ended") return true;
  // Another client has decided it while it was read.
  if (runs.has(id)) return false;
  if (listed.kind === "call" || drivenHere(runtime.journal, id))
    throw new RequestProblem(
      "execution_driven",
      "Code of the server itself runs this execution, and only that code can cancel it.",
    );
  const signal = AbortSignal.abort(new Error("A client has cancelled it."));
  const options = { tenant, signal, onEvent, approve: () => "later" as const };
  if (!conversation) {
    await runs.run(id, () => runtime.resume(id, options));
    return true;
  }
  const model = models({ execution: id, tenant, ...conversation });
  if (!model)
    throw new RequestProblem(
      "model_unavailable",
      `The server has no model ${conversation.model} to continue the conversation with.`,
    );
  await runs.run(id, () => runtime.resumeAgent(id, { ...options, model }));
  return true;
}
