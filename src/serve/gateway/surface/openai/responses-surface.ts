import type { Surface } from "../surface.ts";
import { listOf, textOf } from "../../../../base/index.ts";
import { ID_LENGTH } from "../history-reader.ts";
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
  ids: { reply: "resp_", call: "call_", program: "cprog_", state: "fpr_", text: "msg_", reasoning: "rs_" },
  item: itemOf,
  references: (body) =>
    listOf(body, "input").flatMap((item) => {
      const id = textOf(item, "type") === "item_reference" ? textOf(item, "id") : undefined;
      return id !== undefined && id.length <= ID_LENGTH ? [id] : [];
    }),
};
