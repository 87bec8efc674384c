import type { Surface } from "../../surface/surface.ts";
import { listOf, textOf } from "../../../values/fields.ts";
import { readRequest } from "./read-request.ts";
import { ResponseWriter } from "./response-writer.ts";
import { errorOf, errorStatus, itemOf, writeResponse } from "./write-response.ts";

/** OpenAI's Responses API, as clients speak it. */
export const responsesSurface: Surface = {
  read: readRequest,
  reply: writeResponse,
  writer: (facts, partOf) => new ResponseWriter(facts, partOf),
  refusal: (refusal) => ({ status: errorStatus(refusal), body: { error: errorOf(refusal) } }),
  counted: (tokens) => ({ object: "response.input_tokens", input_tokens: tokens }),
  words: {
    stateMissing: "A program that waits needs its fingerprint.",
    stateGone: "The fingerprint of the program is not one of this key, or the program has expired.",
  },
  requestIdHeader: "x-request-id",
  rateHeaders: ({ limit, remaining, resetMs }) => ({
    "x-ratelimit-limit-requests": String(limit),
    "x-ratelimit-remaining-requests": String(remaining),
    "x-ratelimit-reset-requests": durationText(resetMs),
  }),
  ids: { reply: "resp_", call: "call_", program: "cprog_", state: "fpr_", text: "msg_", reasoning: "rs_" },
  item: itemOf,
  references: (body) =>
    listOf(body, "input").flatMap((item) =>
      textOf(item, "type") === "item_reference" ? (textOf(item, "id") ?? []) : [],
    ),
};

/** A time as the provider writes it: `120ms`, `1.5s`, `6m0s`. */
function durationText(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 10) / 100;
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${Math.ceil(seconds % 60)}s`;
}
