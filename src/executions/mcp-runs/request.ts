import { IDEMPOTENCY_META } from "../../tools/tool.ts";
import { fieldOf, isFields, textOf } from "../../base/index.ts";

/** A question to the user of the client, as `elicitation/create` takes it. */
export interface Elicitation {
  readonly message: string;
  readonly requestedSchema: object;
}

/**
 * How the server of a request asks the client's user. `push`: by a request to the client, while the call goes on.
 * `rounds`: by an answer to the call that requires input, after which the client repeats the call.
 */
export type Asking =
  | { readonly type: "push"; readonly ask: (elicitation: Elicitation, signal: AbortSignal) => Promise<unknown> }
  | { readonly type: "rounds"; readonly state: unknown; readonly responses: Readonly<Record<string, unknown>> }
  | { readonly type: "none" };

/** The parts of a request by which version 2 of the SDK asks the user. */
interface AskingV2 {
  readonly id: string | number;
  /** Present from protocol 2026-07-28 on, in which servers send no requests to clients. */
  readonly envelope?: Readonly<Record<string, unknown>>;
  readonly inputResponses?: Readonly<Record<string, unknown>>;
  readonly requestState: () => unknown;
  readonly elicitInput: (elicitation: Elicitation, options: object) => Promise<unknown>;
}

const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** A person answers when they can. A client that does not want to wait cancels its call. */
const TIMEOUT_MS = 2 ** 31 - 1;

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
interface ContextV1 {
  readonly _meta?: Meta;
  readonly signal: AbortSignal;
  readonly sendNotification: Send;
  /** Asks the user, among others. */
  readonly sendRequest: (request: object, schema: object, options: object) => Promise<unknown>;
}

const TOKEN_LENGTH = 1024;

/** `capabilities` are what a client of a protocol before 2026 has declared, if the server knows that. */
export function readMcpRequest(context: object, capabilities?: object): McpRequest {
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

/**
 * `capabilities` are what a client of a protocol before 2026 has declared, if the server knows that. `disconnect`: the client no
 * longer reads the answer, in whose stream the question would be.
 */
function askingOf(
  mcpReq: AskingV2,
  capabilities: object | undefined,
  disconnect: AbortSignal = new AbortController().signal,
): Asking {
  const { id: relatedRequestId, envelope, inputResponses = {} } = mcpReq;
  if (!envelope && capabilities && !canFillForms(capabilities)) return { type: "none" };
  // The SDK refuses what the client did not declare; an approval that cannot be asked for is denied.
  if (!envelope)
    return {
      type: "push",
      ask: (elicitation, over) => {
        const signal = AbortSignal.any([over, disconnect]);
        return mcpReq.elicitInput(elicitation, { signal, timeout: TIMEOUT_MS, relatedRequestId });
      },
    };
  return canFillForms(envelope[CLIENT_CAPABILITIES])
    ? { type: "rounds", state: mcpReq.requestState(), responses: inputResponses }
    : { type: "none" };
}

/** A client that declares elicitation without details shows forms. */
function canFillForms(capabilities: unknown): boolean {
  const elicitation = fieldOf(capabilities, "elicitation");
  return isFields(elicitation) && (Object.hasOwn(elicitation, "form") || Object.keys(elicitation).length === 0);
}

function askingOfV1(extra: ContextV1): Asking {
  return {
    type: "push",
    ask: async (params, signal) => {
      const { z } = await import("zod");
      const elicited = z.looseObject({ action: z.string() });
      return extra.sendRequest({ method: "elicitation/create", params }, elicited, { signal, timeout: TIMEOUT_MS });
    },
  };
}
