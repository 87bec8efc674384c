import { jsonInParts } from "../../values/json-parts.ts";
import { Lane } from "../../values/slice-scheduler.ts";
import type { Key } from "../http/keys.ts";
import { OpenRequests } from "../http/open-requests.ts";
import { RequestProblem } from "../http/problems.ts";
import { whenOver } from "../http/when-over.ts";
import type { ApiParts } from "./parts.ts";

/** Length from which an answer counts as held: a client may leave it unread. */
const COUNTED_LENGTH = 32 * 1024;

/**
 * An answer of JSON, which is made in the tenant's share of the host's thread. A large one counts as held by the key until it
 * has been read.
 */
export async function jsonAnswer(parts: Pick<ApiParts, "open">, key: Key, value: unknown): Promise<Response> {
  return textAnswer(parts, key, await new Lane(key.tenant).work(jsonInParts(value)));
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
  throw new RequestProblem(
    "too_many_at_once",
    "The open requests of this key hold too many bytes: read its answers, then try again.",
  );
}
