import type { z } from "zod";
import { listView } from "../../views/list-view.ts";
import type { LIST_QUERY } from "./bodies.ts";
import { jsonAnswer } from "./json-answer.ts";
import type { ApiParts, ApiRequest } from "./parts.ts";

/**
 * `GET /v1/executions`: the latest first. A page may have fewer than `limit`, or none, and a cursor all the same: a request
 * looks at so many only.
 */
export async function list(
  { runtime, ids, open }: ApiParts,
  { key, query }: ApiRequest<unknown, z.output<typeof LIST_QUERY>>,
): Promise<Response> {
  const { tenant } = key;
  const { cursor, ...filter } = query;
  const { executions, next } = await listView(runtime.journal, { ...filter, before: cursor, tenant });
  const own = executions.map(({ execution, parent, ...row }) => ({
    ...row,
    execution: ids.shown(tenant, execution),
    ...(parent !== undefined && { parent: ids.shown(tenant, parent) }),
  }));
  return jsonAnswer({ open }, key, { executions: own, ...(next === undefined ? {} : { cursor: String(next) }) });
}
