import { IDEMPOTENCY_META } from "../../tools/tool.ts";
import { fieldOf, textOf } from "../../base/index.ts";
import { type Asking, askingOf, askingOfV1, type AskingV1, type AskingV2 } from "./asking.ts";

/** One `tools/call` request, read from what version 1 or 2 of the SDK gives to a handler. */
export interface McpRequest {
  readonly signal: AbortSignal | undefined;
  readonly asking: Asking;
  /** Undefined if the client did not ask for progress. */
  readonly notify: ((progress: number, message: string) => Promise<void>) | undefined;
  /** What the client calls all repetitions of the call by; undefined if it says nothing. */
  readonly idempotencyKey?: string | undefined;
}

const MOST_KEY_LENGTH = 256;
const INVALID_PARAMS = -32_602;

type Send = (notification: object) => Promise<void>;

interface Meta {
  readonly progressToken?: string | number;
}

/** Of `@modelcontextprotocol/server`, version 2. */
interface ContextV2 {
  readonly http?: { readonly req?: Pick<Request, "signal"> };
  readonly mcpReq: AskingV2 & {
    readonly _meta?: Meta;
    readonly signal: AbortSignal;
    readonly notify: Send;
  };
}

/** Of `@modelcontextprotocol/sdk`, version 1. */
interface ContextV1 extends AskingV1 {
  readonly _meta?: Meta;
  readonly signal: AbortSignal;
  readonly sendNotification: Send;
}

const TOKEN_LENGTH = 1024;

/** `capabilities` are what a client of a protocol before 2026 has declared, if the server knows that. */
export function readRequest(context: object, capabilities?: object): McpRequest {
  const { mcpReq, http } = context as Partial<ContextV2>;
  const extra = context as ContextV1;
  if (!mcpReq && !("sendNotification" in context))
    return { signal: undefined, asking: { type: "none" }, notify: undefined };
  const { _meta: meta, signal } = mcpReq ?? extra;
  const send = (one: object) => (mcpReq ? mcpReq.notify(one) : extra.sendNotification(one));
  return {
    signal,
    asking: mcpReq ? askingOf(mcpReq, capabilities, http?.req?.signal) : askingOfV1(extra),
    notify: notifier(meta, send),
    idempotencyKey: keyOf(meta),
  };
}

/** Who makes a request, if the server has checked that; empty otherwise. */
export function principalOf(context: object): string {
  const info = fieldOf(fieldOf(context, "http"), "authInfo") ?? fieldOf(context, "authInfo");
  return textOf(info, "clientId") ?? "";
}

function keyOf(meta: Meta | undefined): string | undefined {
  const key = fieldOf(meta, IDEMPOTENCY_META);
  if (key === undefined || (typeof key === "string" && key.length > 0 && key.length <= MOST_KEY_LENGTH)) return key;
  // Left out, each repetition would be a call of its own. Both versions of the SDK answer with the code of an error.
  const expected = `_meta["${IDEMPOTENCY_META}"]: expected a text of 1 to ${MOST_KEY_LENGTH} characters. Nothing was called.`;
  throw Object.assign(new Error(expected), { code: INVALID_PARAMS });
}

function notifier(meta: Meta | undefined, send: Send): McpRequest["notify"] {
  const progressToken = meta?.progressToken;
  // The token goes back with each notification.
  if (progressToken === undefined || String(progressToken).length > TOKEN_LENGTH) return undefined;
  return (progress, message) =>
    send({ method: "notifications/progress", params: { progressToken, progress, message } });
}
