import type { CallContext } from "../../tools/tool.ts";
import type { ServerText } from "./clean-credentials.ts";
import { resultValue } from "./result-value.ts";
import type { Message } from "./wire/wire.ts";

/** A request of the protocol. */
export interface ServerRequest {
  readonly method: "tools/call" | "resources/read";
  readonly params: Message;
}

/** A call, as a method reads it. */
export interface ServerCall extends Pick<CallContext, "caller" | "isNamed"> {
  /** The tool's name here, and at the server. */
  readonly name: string;
  readonly original: string;
  readonly source: string;
  readonly input: unknown;
}

/** What a call of a tool asks of its server, and what it makes of the answer. */
export interface ProtocolMethod {
  /** Throws `tool_failed` for what the server is not asked for. */
  readonly request: (call: ServerCall) => ServerRequest;
  /** Throws as `resultValue` does. */
  readonly value: (result: Message, call: ServerCall, text: ServerText) => unknown;
}

/** Calls a tool of the server. */
export const callingTool: ProtocolMethod = {
  request: ({ original, input }) => ({ method: "tools/call", params: { name: original, arguments: input } }),
  value: (result, { caller }, text) => resultValue(result, text, caller),
};
