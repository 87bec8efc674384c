import { REASONS } from "../../../conversations/index.ts";
import type { ExecutionId } from "../../../base/index.ts";
import { isHeadMoved } from "../../../journal/reading/index.ts";
import { drivenHere } from "../../../executions/driven.ts";
import type { Runtime } from "../../../runtime/create-runtime.ts";
import { RequestProblem } from "../../http/problems.ts";
import { type ApiRequest, ownConversation, ownReadable, refuseRevoked } from "../parts.ts";
import { statusAnswer } from "./show.ts";

type ExecutionStatus = Awaited<ReturnType<ReturnType<Runtime["execution"]>["status"]>>;

/** How often it is tried against others who append to the same execution. */
const TRIES = 10;

type Request = keyof typeof REASONS & ("cancel" | "interrupt");

const ending =
  (own: typeof ownReadable, request: Request) =>
  async (asked: ApiRequest): Promise<Response> =>
    end(asked, await own(asked), request);

/** `POST /v1/executions/:id/cancel`: ends an execution, and answers what it has come to. An execution that has ended stays as it is. */
export const handleCancel = ending(ownReadable, "cancel");

/** `POST /v1/conversations/:id/end`: the same for a conversation, by those who hold conversations. */
export const endConversation = ending(ownConversation, "cancel");

/** `POST /v1/conversations/:id/interrupt`: ends what is under way. It is answered once the journal has it. */
export const interrupt = ending(ownConversation, "interrupt");

/**
 * Ends an execution, or what is under way in it, for as long as the key holds. It is looked at again until there is nothing more to do,
 * as others may append to the same execution.
 */
async function end(asked: ApiRequest, own: ExecutionId, request: Request): Promise<Response> {
  const { runs } = asked;
  for (let tries = 1; tries <= TRIES; tries += 1)
    try {
      const status = await asked.handleOf(own).status();
      refuseRevoked(asked);
      const { state } = status.listed;
      if (request === "cancel" ? state === "ended" : state !== "running" && !runs.has(own)) break;
      if (runs.has(own)) await runs.end(own, REASONS[request]());
      else if (rests(status)) await endResting(asked, own, status.conversation);
      else await endRunning(asked, own, status, request);
    } catch (error) {
      // Another client has said something about it, or has cancelled it too.
      if (tries === TRIES || !isHeadMoved(error)) throw error;
    }
  return statusAnswer(asked, own);
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
  { runtime, runs, served, driving, onEvent, handleOf, key: { tenant } }: ApiRequest,
  id: ExecutionId,
  { listed, conversation }: ExecutionStatus,
  request: Request,
): Promise<void> {
  if (listed.driven && (await driving.ask(id, request))) return;
  // Another client has decided it while it was read.
  if (runs.has(id)) return;
  if (listed.kind === "call" || drivenHere(runtime.journal, id))
    throw new RequestProblem(
      "execution_driven",
      "Code of the server itself runs this execution, and only that code can cancel it.",
    );
  const signal = AbortSignal.abort(REASONS[request]());
  const options = { signal, onEvent, approve: () => "later" as const, allowChangedTools: true };
  const model = conversation && served.continuing({ execution: id, tenant, ...conversation });
  const handle = handleOf(id);
  await runs.run<unknown>(id, () => (model ? handle.resume({ ...options, model }) : handle.resume(options)));
}

/** Ends a conversation with the ending with which it rests. */
async function endResting(
  { runtime, runs, served, onEvent, key: { tenant } }: ApiRequest,
  id: ExecutionId,
  conversation: RestingStatus["conversation"],
): Promise<void> {
  const model = served.continuing({ execution: id, tenant, ...conversation });
  await runs.run(id, async () => {
    const talk = await runtime.conversation({ model, id, tenant, onEvent, allowChangedTools: true });
    await talk[Symbol.asyncDispose]();
  });
}
