import type { z } from "zod";
import { BY_LENGTH } from "../../../gate/approve/approval.ts";
import type { ExecutionId } from "../../../base/index.ts";
import type { Decision } from "../../../executions/decide.ts";
import type { Key } from "../../http/keys.ts";
import type { DECISIONS_BODY, RESULTS_BODY } from "../bodies.ts";
import { accepted, type ApiParts, type ApiRequest, ownUnless, refuseOfGateway, takePlace } from "../parts.ts";

/** `POST /v1/executions/:id/decisions`: notes the decisions, and drives on. */
export async function decide(
  parts: ApiParts,
  { key, id, body }: ApiRequest<z.output<typeof DECISIONS_BODY>, unknown>,
): Promise<Response> {
  const own = await ownDriven(parts, key, id);
  const decisions = Object.entries(body.decisions).map(([call, decision]) => [call, signed(decision as Decision, key)]);
  const said = Object.fromEntries(decisions) as Record<string, Decision>;
  const signal = parts.keys.signalOf(key);
  return drivenOn(parts, key, own, () => parts.runtime.decide(own, said, { tenant: key.tenant, signal }));
}

/** `POST /v1/executions/:id/results`: notes the results, and drives on. */
export async function answer(
  parts: ApiParts,
  { key, id, body }: ApiRequest<z.output<typeof RESULTS_BODY>, unknown>,
): Promise<Response> {
  const own = await ownDriven(parts, key, id);
  const signal = parts.keys.signalOf(key);
  return drivenOn(parts, key, own, () => parts.runtime.answer(own, body.results, { tenant: key.tenant, signal }));
}

/** The id in the journal of an execution that may go on here: what is noted about another one would be noted for ever. */
function ownDriven(parts: ApiParts, key: Key, id: string): Promise<ExecutionId> {
  return ownUnless(parts, key, id, (header) => {
    refuseOfGateway(header);
    parts.keys.now(header.owner, key.tenant);
  });
}

/**
 * Notes decisions or results, and drives on. The client asks for the outcome, or sees it in the events. Driving takes a
 * place of the key: otherwise a key with many waiting executions could run more at once than it may.
 */
async function drivenOn(parts: ApiParts, key: Key, id: ExecutionId, note: () => Promise<void>): Promise<Response> {
  // An execution that runs here has its place already.
  const release = parts.runs.has(id) ? () => {} : takePlace(parts, key);
  try {
    await note();
  } catch (error) {
    release();
    throw error;
  }
  parts.driving.driveOn(id, key.tenant, release);
  return accepted(parts, key, id, 200);
}

/** Who decided is the key, and beside it the name that its client gives. */
function signed({ by, ...decision }: Decision, { id }: Key): Decision {
  const signature = ` (${id})`;
  const room = BY_LENGTH - signature.length;
  return { ...decision, by: by === undefined || room <= 0 ? id : by.slice(0, room) + signature };
}
