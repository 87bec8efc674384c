import { VIEW_BOUNDS, viewCall, viewExecution } from "../../../views/view-execution.ts";
import { jsonAnswer } from "../json-answer.ts";
import { ownExecution, type ApiParts, type ApiRequest } from "../parts.ts";

const FOR_CLIENTS = { ...VIEW_BOUNDS, forClient: true } as const;

/** `GET /v1/executions/:id/view`: what the page shows of it. */
export async function view(parts: ApiParts, { key, id }: ApiRequest<unknown, unknown>): Promise<Response> {
  const own = await ownExecution(parts, key, id);
  const { execution, parent, ...shown } = await viewExecution(parts.runtime.journal, own, FOR_CLIENTS);
  const shownId = (one: string) => parts.ids.shown(key.tenant, one);
  const above = parent && { parent: { ...parent, execution: shownId(parent.execution) } };
  return jsonAnswer(key, { execution: shownId(execution), ...above, ...shown });
}

/** `GET /v1/executions/:id/calls/:call`: the whole texts of one call. */
export async function call(
  parts: ApiParts,
  { key, id, call: callId }: ApiRequest<unknown, unknown>,
): Promise<Response> {
  const own = await ownExecution(parts, key, id);
  return jsonAnswer(key, await viewCall(parts.runtime.journal, own, callId));
}
