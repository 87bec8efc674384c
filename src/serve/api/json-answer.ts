import { jsonInParts, Lane } from "../../base/index.ts";
import type { Key } from "../http/keys.ts";

/** An answer of JSON, which is made in the tenant's share of the host's thread. */
export async function jsonAnswer({ tenant }: Key, value: unknown): Promise<Response> {
  return textAnswer(await new Lane(tenant).work(jsonInParts(value)));
}

/** Like `jsonAnswer`, of JSON text. */
export function textAnswer(text: string): Response {
  return new Response(text, { headers: { "content-type": "application/json" } });
}
