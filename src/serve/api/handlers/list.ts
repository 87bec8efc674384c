import type { z } from "zod";
import { listView } from "../../../views/list/list-view.ts";
import type { LIST_QUERY } from "../bodies.ts";
import { jsonAnswer } from "../json-answer.ts";
import type { ApiParts, ApiRequest } from "../parts.ts";

/**
 * `GET /v1/executions`: the latest first. A page may have fewer executions than `limit`, or none, and still a cursor:
 * each request looks at a bounded number.
 */
export async function list(
  { runtime, ids }: ApiParts,
  { key, query }: ApiRequest<unknown, z.output<typeof LIST_QUERY>>,
): Promise<Response> {
  const { tenant } = key;
  const { cursor, ...filter } = query;
  const { executions, next } = await listView(runtime.journal, { ...filter, before: cursor, tenant });
  const own = executions.map((row) => ids.shownIn(tenant, row));
  return jsonAnswer(key, { executions: own, ...(next === undefined ? {} : { cursor: String(next) }) });
}
