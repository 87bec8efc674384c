import type { z } from "zod";
import { BY_LENGTH } from "../../gate/approval.ts";
import type { ExecutionId } from "../../journal/execution-id.ts";
import type { Decision } from "../../programs/decide.ts";
import type { Key } from "../http/keys.ts";
import type { DECISIONS_BODY, RESULTS_BODY } from "./bodies.ts";
import { type ApiParts, type ApiRequest, ownExecution } from "./parts.ts";

/** `POST /v1/executions/:id/decisions`: notes them, and drives on. */
export async function decide(
  parts: ApiParts,
  { key, id, body }: ApiRequest<z.output<typeof DECISIONS_BODY>, unknown>,
): Promise<Response> {
  const own = await ownExecution(parts, key, id);
  const decisions = Object.entries(body.decisions).map(([call, decision]) => [call, signed(decision as Decision, key)]);
  await parts.runtime.decide(own, Object.fromEntries(decisions) as Record<string, Decision>, { tenant: key.tenant });
  return drivenOn(parts, key, own);
}

/** `POST /v1/executions/:id/results`: notes them, and drives on. */
export async function answer(
  parts: ApiParts,
  { key, id, body }: ApiRequest<z.output<typeof RESULTS_BODY>, unknown>,
): Promise<Response> {
  const own = await ownExecution(parts, key, id);
  await parts.runtime.answer(own, body.results, { tenant: key.tenant });
  return drivenOn(parts, key, own);
}

/** The journal has what was said. What comes of it is asked for, or seen in the events. */
function drivenOn({ runs, ids }: ApiParts, { tenant }: Key, id: ExecutionId): Response {
  runs.driveOn(id, tenant);
  return Response.json({ execution: ids.shown(tenant, id), state: "running" });
}

/** Who decided is the key, and beside it the name that its client gives. */
function signed({ by, ...decision }: Decision, { id }: Key): Decision {
  const signature = ` (${id})`;
  const room = BY_LENGTH - signature.length;
  return { ...decision, by: by === undefined || room <= 0 ? id : by.slice(0, room) + signature };
}
