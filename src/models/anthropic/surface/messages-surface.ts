import type { Surface } from "../../surface/surface.ts";
import { readRequest } from "./read-request.ts";
import { errorBody, errorStatus } from "./write-error.ts";
import { MessageWriter, writeMessage } from "./write-message.ts";

/** Anthropic's Messages API, as clients speak it. */
export const messagesSurface: Surface = {
  read: readRequest,
  reply: writeMessage,
  writer: (facts) => new MessageWriter(facts),
  refusal: (refusal, requestId) => ({ status: errorStatus(refusal), body: errorBody(refusal, requestId) }),
  requestIdHeader: "request-id",
  ids: { reply: "msg_", call: "toolu_", program: "srvtoolu_", state: "container_" },
};
