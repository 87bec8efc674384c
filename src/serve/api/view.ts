import { viewCall } from "../../views/view-call.ts";
import { viewExecution } from "../../views/view-execution.ts";
import { jsonAnswer } from "./json-answer.ts";
import { type ApiParts, type ApiRequest, ownExecution } from "./parts.ts";

/** `GET /v1/executions/:id/view`: what the page shows of it. */
export async function view(parts: ApiParts, { key, id }: ApiRequest<unknown, unknown>): Promise<Response> {
  const own = await ownExecution(parts, key, id);
  const { execution, parent, ...shown } = await viewExecution(parts.runtime.journal, own);
  const shownId = (one: string) => parts.ids.shown(key.tenant, one);
  const above = parent && { parent: { ...parent, execution: shownId(parent.execution) } };
  return jsonAnswer(parts, key, { execution: shownId(execution), ...above, ...shown });
}

/** `GET /v1/executions/:id/calls/:call`: the whole texts of one call. */
export async function call(
  parts: ApiParts,
  { key, id, call: callId }: ApiRequest<unknown, unknown>,
): Promise<Response> {
  const own = await ownExecution(parts, key, id);
  return jsonAnswer(parts, key, await viewCall(parts.runtime.journal, own, callId));
}
