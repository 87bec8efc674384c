import type { Key } from "../http/keys.ts";
import { RequestProblem } from "../http/problems.ts";
import { whenOver } from "../http/when-over.ts";
import type { ApiParts } from "./parts.ts";

/** Length from which an answer counts as held: a client may leave it unread. */
const COUNTED_LENGTH = 32 * 1024;

/** An answer of JSON. A large one counts as held by the key until it has been read. */
export function jsonAnswer({ open }: Pick<ApiParts, "open">, { id }: Key, value: unknown): Response {
  const text = JSON.stringify(value);
  const response = new Response(text, { headers: { "content-type": "application/json" } });
  if (text.length < COUNTED_LENGTH) return response;
  const over = open.begin(id, 2 * text.length);
  if (over) return whenOver(response, over);
  throw new RequestProblem("too_many_at_once", "This key has too much under way: read its answers, then ask again.");
}
