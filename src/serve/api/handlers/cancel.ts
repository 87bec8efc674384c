import { cancelled, interrupted } from "../../../conversations/index.ts";
import type { ExecutionId } from "../../../base/index.ts";
import { isHeadMoved } from "../../../journal/reading/index.ts";
import { drivenHere } from "../../../executions/driven.ts";
import type { Runtime } from "../../../runtime/create-runtime.ts";
import type { Key } from "../../http/keys.ts";
import { RequestProblem } from "../../http/problems.ts";
import { jsonAnswer } from "../json-answer.ts";
import { type ApiParts, type ApiRequest, ownConversation, ownReadable, refuseOfAnother } from "../parts.ts";
import { statusAnswer } from "./show.ts";

type ExecutionStatus = Awaited<ReturnType<ReturnType<Runtime["execution"]>["status"]>>;

/** How often it is tried against others who append to the same execution. */
const TRIES = 10;

/** `POST /v1/executions/:id/cancel`: ends an execution, and answers what it has come to. An execution that has ended stays as it is. */
export async function cancel(parts: ApiParts, { key, id }: ApiRequest<unknown, unknown>): Promise<Response> {
  return end(parts, key, await ownReadable(parts, key, id));
}

/** `POST /v1/conversations/:id/end`: the same for a conversation, by those who hold conversations. */
export async function endConversation(parts: ApiParts, { key, id }: ApiRequest<unknown, unknown>): Promise<Response> {
  return end(parts, key, await ownConversation(parts, key, id, (header) => refuseOfAnother(parts, key, header)));
}

/** `POST /v1/conversations/:id/interrupt`: ends what is under way. It is answered once the journal has it. */
export async function interrupt(parts: ApiParts, { key, id }: ApiRequest<unknown, unknown>): Promise<Response> {
  const own = await ownConversation(parts, key, id, (header) => refuseOfAnother(parts, key, header));
  await repeat(parts, key, own, async (status) => {
    if (parts.runs.has(own)) await parts.runs.end(own, interrupted());
    else if (status.listed.state === "running") await endRunning(parts, key, own, status, "interrupt");
    else return true;
    return false;
  });
  return jsonAnswer(key, await statusAnswer(parts, key, own));
}

async function end(parts: ApiParts, key: Key, own: ExecutionId): Promise<Response> {
  await repeat(parts, key, own, async (status) => {
    if (status.listed.state === "ended") return true;
    if (parts.runs.has(own)) await parts.runs.end(own, cancelled());
    else if (rests(status)) await endResting(parts, key, own, status.conversation);
    else await endRunning(parts, key, own, status, "cancel");
    return false;
  });
  return jsonAnswer(key, await statusAnswer(parts, key, own));
}

/**
 * Repeats a step until it says that there is nothing more to do, for as long as the key holds. Others may append to the same
 * execution between two steps.
 */
async function repeat(
  { runtime, keys }: ApiParts,
  key: Key,
  id: ExecutionId,
  step: (status: ExecutionStatus) => Promise<boolean>,
): Promise<void> {
  for (let tries = 1; tries <= TRIES; tries += 1)
    try {
      const status = await runtime.execution(id, { tenant: key.tenant }).status();
      keys.signalOf(key).throwIfAborted();
      if (await step(status)) return;
    } catch (error) {
      // Another client has said something about it, or has cancelled it too.
      if (tries === TRIES || !isHeadMoved(error)) throw error;
    }
}

type RestingStatus = ExecutionStatus & Required<Pick<ExecutionStatus, "conversation">>;

/** Whether a conversation waits for nothing but its user. */
function rests(status: ExecutionStatus): status is RestingStatus {
  const { listed, conversation } = status;
  return conversation !== undefined && listed.state === "waiting" && listed.waitsFor.length === 0;
}

/**
 * Ends an open execution that this server does not run: its driver is asked to, wherever it is. If there is none, the execution is
 * taken up only to be ended, or interrupted.
 */
async function endRunning(
  { runtime, runs, served, driving, onEvent }: ApiParts,
  { tenant }: Key,
  id: ExecutionId,
  { listed, conversation }: ExecutionStatus,
  request: "cancel" | "interrupt",
): Promise<void> {
  if (listed.driven && (await driving.ask(id, request))) return;
  // Another client has decided it while it was read.
  if (runs.has(id)) return;
  if (listed.kind === "call" || drivenHere(runtime.journal, id))
    throw new RequestProblem(
      "execution_driven",
      "Code of the server itself runs this execution, and only that code can cancel it.",
    );
  const signal = AbortSignal.abort(request === "cancel" ? cancelled() : interrupted());
  const options = { signal, onEvent, approve: () => "later" as const, allowChangedTools: true };
  const model = conversation && served.continuing({ execution: id, tenant, ...conversation });
  const handle = runtime.execution(id, { tenant });
  await runs.run<unknown>(id, () => (model ? handle.resume({ ...options, model }) : handle.resume(options)));
}

/** Ends a conversation with the ending with which it rests. */
async function endResting(
  { runtime, runs, served, onEvent }: ApiParts,
  { tenant }: Key,
  id: ExecutionId,
  conversation: RestingStatus["conversation"],
): Promise<void> {
  const model = served.continuing({ execution: id, tenant, ...conversation });
  await runs.run(id, async () => {
    const talk = await runtime.conversation({ model, id, tenant, onEvent, allowChangedTools: true });
    await talk[Symbol.asyncDispose]();
  });
}
