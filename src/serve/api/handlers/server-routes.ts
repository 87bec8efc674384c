import { readList } from "../../../journal/reading/read-records.ts";
import { RequestProblem } from "../../http/problems.ts";
import type { ApiParts } from "../parts.ts";

/** `GET /healthz`: the process answers. */
export function health(): Response {
  return Response.json({ status: "ok" });
}

/** `GET /readyz`: the server takes programs, and its journal answers. */
export async function ready({ runtime, isReady }: ApiParts): Promise<Response> {
  if (!isReady()) throw new RequestProblem("server_closing", "The server is closing, and takes no further programs.");
  // What was deleted or damaged shows here.
  for await (const _ of readList(runtime.journal)) break;
  return Response.json({ status: "ready" });
}

/** `GET /metrics`. */
export function metrics({ metrics: counted }: ApiParts): Response {
  return new Response(counted.text(), { headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" } });
}
