import type { Key } from "../http/keys.ts";
import { OpenRequests } from "../http/open-requests.ts";
import { RequestProblem } from "../http/problems.ts";
import { whenOver } from "../http/when-over.ts";
import type { ApiParts } from "./parts.ts";

/** Length from which an answer counts as held: a client may leave it unread. */
const COUNTED_LENGTH = 32 * 1024;

/** An answer of JSON. A large one counts as held by the key until it has been read. */
export function jsonAnswer(parts: Pick<ApiParts, "open">, key: Key, value: unknown): Response {
  return textAnswer(parts, key, JSON.stringify(value));
}

/** Like `jsonAnswer`, of JSON text. */
export function textAnswer({ open }: Pick<ApiParts, "open">, { id }: Key, text: string): Response {
  const response = new Response(text, { headers: { "content-type": "application/json" } });
  if (text.length < COUNTED_LENGTH) return response;
  const bytes = 2 * text.length;
  const over = open.begin(id, bytes);
  if (over) return whenOver(response, over);
  if (!OpenRequests.canHold(bytes))
    throw new RequestProblem(
      "answer_too_large",
      `The answer has ${text.length} characters, more than the server gives at once: let programs fetch and keep smaller parts.`,
    );
  throw new RequestProblem("too_many_at_once", "This key has too much under way: read its answers, then ask again.");
}
