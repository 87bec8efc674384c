import type { z } from "zod";
import { BY_LENGTH } from "../../../gate/approve/approval.ts";
import { PortcullisError } from "../../../base/index.ts";
import type { Runtime } from "../../../runtime/create-runtime.ts";
import type { Decision } from "../../../executions/decide.ts";
import type { Key } from "../../http/keys.ts";
import { RequestProblem } from "../../http/problems.ts";
import type { DECISIONS_BODY, RESULTS_BODY } from "../bodies.ts";
import { acceptedResponse, type ApiRequest, ownReadable, ownUnless, refuseOfGateway, takePlace } from "../parts.ts";

/** `POST /v1/executions/:id/decisions`: notes the decisions, and drives on. */
export function handleDecide(request: ApiRequest<z.output<typeof DECISIONS_BODY>>): Promise<Response> {
  const decisions = Object.entries(request.body.decisions).map(([call, decision]) => [
    call,
    signed(decision as Decision, request.key),
  ]);
  const byCall = Object.fromEntries(decisions) as Record<string, Decision>;
  return drivenOn(request, (own, options) => own.decide(byCall, options));
}

/** `POST /v1/executions/:id/results`: notes the results, and drives on. */
export function handleAnswer(request: ApiRequest<z.output<typeof RESULTS_BODY>>): Promise<Response> {
  return drivenOn(request, (own, options) => own.answer(request.body.results, options));
}

/**
 * Notes decisions or results, and drives on: not where an execution may not go on here, as what is noted about it would be noted for
 * ever. The client asks for the outcome, or sees it in the events. Driving takes a place of the key: otherwise a key with many
 * waiting executions could run more at once than it may.
 */
async function drivenOn(
  request: ApiRequest,
  note: (own: ReturnType<Runtime["execution"]>, options: { readonly signal: AbortSignal }) => Promise<void>,
): Promise<Response> {
  const { key, keys, runs } = request;
  if (await request.ids.meansTwo(key.tenant, request.id))
    throw new RequestProblem(
      "execution_exists",
      "Two executions have this id: one was begun under it, and a call has started the other. Decide and answer at the execution that made that call, with both ids, like call_2/1.",
    );
  const own = await ownUnless(request, (header) => {
    refuseOfGateway(header);
    keys.now(header.owner, key.tenant);
  });
  const signal = keys.signalOf(key);
  // An execution that runs here has its place already.
  const release = runs.has(own) ? () => {} : takePlace(request);
  try {
    await note(request.handleOf(own), { signal });
  } catch (error) {
    release();
    const mayRead = await ownReadable(request).catch(() => false);
    if (!PortcullisError.is(error) || mayRead) throw error;
    // The reason may name tools, what they give, and who decided.
    const says = "Nothing was noted. A key that may read this execution gets the reason.";
    throw new PortcullisError(error.code, says, { cause: error });
  }
  request.driving.driveOn(own, key.tenant, release);
  return acceptedResponse(request, own, 200);
}

/** Who decided is the key, and beside it the name that its client gives. */
function signed({ by, ...decision }: Decision, { id }: Key): Decision {
  const signature = ` (${id})`;
  const room = BY_LENGTH - signature.length;
  return { ...decision, by: by === undefined || room <= 0 ? id : by.slice(0, room) + signature };
}
