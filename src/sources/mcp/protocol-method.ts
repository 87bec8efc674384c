import { hash } from "node:crypto";
import type { PortcullisError } from "../../base/index.ts";
import type { CallContext } from "../../tools/tool.ts";
import { IDEMPOTENCY_META } from "../../tools/tool.ts";
import type { ServerText } from "./clean-credentials.ts";
import { resultValue } from "./result-value.ts";
import type { Message } from "./wire/wire.ts";

export interface ServerRequest {
  readonly method: "tools/call" | "resources/read";
  readonly params: Message;
}

export interface ServerCall extends Pick<CallContext, "caller" | "isNamed" | "idempotencyKey" | "resultValues"> {
  readonly name: string;
  readonly original: string;
  readonly source: string;
  readonly declared: boolean;
  readonly input: unknown;
}

/** What a call of a tool asks of its server, and what it makes of the answer. */
export interface ProtocolMethod {
  /** Throws `tool_failed` for what the server is not asked for. */
  readonly request: (call: ServerCall) => ServerRequest;
  /** Throws as `resultValue` does. */
  readonly value: (result: Message, call: ServerCall, text: ServerText) => unknown;
  /** What an error of the protocol with this code says of the call; by default that the server refused it. */
  readonly refused?: (code: number, call: ServerCall) => PortcullisError | undefined;
}

export const callingTool: ProtocolMethod = {
  request: ({ original, input, idempotencyKey }) => ({
    method: "tools/call",
    // The server learns which calls are repetitions of one call, and no id of this host.
    params: { name: original, arguments: input, _meta: { [IDEMPOTENCY_META]: hash("sha256", idempotencyKey) } },
  }),
  value: resultValue,
};
