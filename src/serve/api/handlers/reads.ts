import type { z } from "zod";
import { readRecords } from "../../../journal/reading/index.ts";
import type { Header } from "../../../journal/record.ts";
import { listView } from "../../views/list/list-view.ts";
import { VIEW_BOUNDS, viewCall, viewExecution } from "../../views/view-execution.ts";
import { RequestProblem } from "../../http/problems.ts";
import type { LIST_QUERY } from "../bodies.ts";
import { jsonAnswer, textAnswer } from "../json-answer.ts";
import { type ApiRequest, faultOfAnother, ownReadable, refuseOfOtherKey } from "../parts.ts";

export const FOR_CLIENTS = { ...VIEW_BOUNDS, forClient: true } as const;

/**
 * `GET /v1/executions`: the latest first. A page may have fewer executions than `limit`, or none, and still a cursor:
 * each request looks at a bounded number.
 */
export async function list({
  runtime,
  ids,
  key,
  query,
}: ApiRequest<unknown, z.output<typeof LIST_QUERY>>): Promise<Response> {
  const { tenant } = key;
  const { cursor, ...filter } = query;
  const { executions, next } = await listView(
    runtime.journal,
    { ...filter, before: cursor, tenant },
    (header) => faultOfAnother(key, header) === undefined,
  );
  const own = executions.map((row) => ids.shownIn(tenant, row));
  return jsonAnswer(key, { executions: own, cursor: next === undefined ? undefined : String(next) });
}

/** `GET /v1/executions/:id/view`: what the page shows of it. */
export async function view(request: ApiRequest): Promise<Response> {
  const { key, runtime, ids } = request;
  const shown = await viewExecution(runtime.journal, await ownReadable(request), FOR_CLIENTS);
  return jsonAnswer(key, ids.shownIn(key.tenant, shown));
}

/** `GET /v1/executions/:id/calls/:call`: the whole texts of one call. */
export async function call(request: ApiRequest): Promise<Response> {
  const own = await ownReadable(request);
  const check = (header: Header) => refuseOfOtherKey(request, header);
  return jsonAnswer(request.key, await viewCall(request.runtime.journal, own, request.call, check));
}

/** `GET /v1/executions/:id/artifacts/:name`: the latest value under the name, as JSON. */
export async function artifact(request: ApiRequest): Promise<Response> {
  const { key, id, name } = request;
  const own = await ownReadable(request);
  let text: string | undefined;
  for await (const record of readRecords(request.runtime.journal, own, key))
    if (record.type === "artifact" && record.name === name) text = record.value;
  if (text === undefined)
    throw new RequestProblem(
      "artifact_unknown",
      `This execution keeps no value of this name. The existing names are listed by: GET /v1/executions/${encodeURIComponent(id)}`,
    );
  const found = textAnswer(text);
  // A browser saves it and does not show it.
  found.headers.set("content-disposition", "attachment");
  return found;
}
