import { z } from "zod";
import { fieldOf, isFields, textOf } from "../values/fields.ts";

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

/** One `tools/call` request, read from what version 1 or 2 of the SDK gives to a handler. */
export interface McpRequest {
  readonly signal: AbortSignal | undefined;
  readonly asking: Asking;
  /** Undefined if the client did not ask for progress. */
  readonly notify: ((progress: number, message: string) => Promise<void>) | undefined;
}

type Send = (notification: object) => Promise<void>;

interface Meta {
  readonly progressToken?: string | number;
}

/** Of `@modelcontextprotocol/server`, version 2. */
interface ContextV2 {
  readonly mcpReq: {
    readonly _meta?: Meta;
    /** Only there from protocol 2026-07-28 on, where servers send no requests to clients. */
    readonly envelope?: Readonly<Record<string, unknown>>;
    readonly inputResponses?: Readonly<Record<string, unknown>>;
    readonly requestState: () => unknown;
    readonly signal: AbortSignal;
    readonly notify: Send;
    readonly elicitInput: (elicitation: Elicitation, options: object) => Promise<unknown>;
  };
}

/** Of `@modelcontextprotocol/sdk`, version 1. */
interface ContextV1 {
  readonly _meta?: Meta;
  readonly signal: AbortSignal;
  readonly sendNotification: Send;
  readonly sendRequest: (request: object, schema: object, options: object) => Promise<unknown>;
}

const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const ELICITED = z.looseObject({ action: z.string() });

/** A person answers when they can. A client that does not want to wait cancels its call. */
const TIMEOUT_MS = 2 ** 31 - 1;

const TOKEN_LENGTH = 1024;

/** `capabilities` are what a client of a protocol before 2026 has declared, if the server knows that. */
export function readRequest(context: object, capabilities?: object): McpRequest {
  if ("mcpReq" in context) {
    const { mcpReq } = context as ContextV2;
    const { _meta: meta } = mcpReq;
    return {
      signal: mcpReq.signal,
      asking: askingOf(mcpReq, capabilities),
      notify: notifier(meta, (notification) => mcpReq.notify(notification)),
    };
  }
  if ("sendNotification" in context) {
    const extra = context as ContextV1;
    const { _meta: meta } = extra;
    return {
      signal: extra.signal,
      asking: {
        type: "push",
        ask: (params, signal) =>
          extra.sendRequest({ method: "elicitation/create", params }, ELICITED, { signal, timeout: TIMEOUT_MS }),
      },
      notify: notifier(meta, (notification) => extra.sendNotification(notification)),
    };
  }
  return { signal: undefined, asking: { type: "none" }, notify: undefined };
}

/** Who makes a request, if the server has checked that; empty otherwise. */
export function principalOf(context: object): string {
  const info = fieldOf(fieldOf(context, "http"), "authInfo") ?? fieldOf(context, "authInfo");
  return textOf(info, "clientId") ?? "";
}

function askingOf(mcpReq: ContextV2["mcpReq"], capabilities: object | undefined): Asking {
  const { envelope, inputResponses = {} } = mcpReq;
  if (!envelope && capabilities && !canFillForms(capabilities)) return { type: "none" };
  // The SDK refuses what the client did not declare; an approval that cannot be asked for is denied.
  if (!envelope)
    return {
      type: "push",
      ask: (elicitation, signal) => mcpReq.elicitInput(elicitation, { signal, timeout: TIMEOUT_MS }),
    };
  return canFillForms(envelope[CLIENT_CAPABILITIES])
    ? { type: "rounds", state: mcpReq.requestState(), responses: inputResponses }
    : { type: "none" };
}

/** Clients that declare nothing more of elicitation show forms. */
function canFillForms(capabilities: unknown): boolean {
  const elicitation = fieldOf(capabilities, "elicitation");
  return isFields(elicitation) && (Object.hasOwn(elicitation, "form") || Object.keys(elicitation).length === 0);
}

function notifier(meta: Meta | undefined, send: Send): McpRequest["notify"] {
  const progressToken = meta?.progressToken;
  // The token goes back with each notification.
  if (progressToken === undefined || String(progressToken).length > TOKEN_LENGTH) return undefined;
  return (progress, message) =>
    send({ method: "notifications/progress", params: { progressToken, progress, message } });
}
