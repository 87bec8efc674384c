import { fieldOf, isFields } from "../../base/index.ts";

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
export interface AskingV2 {
  readonly id: string | number;
  /** Present from protocol 2026-07-28 on, in which servers send no requests to clients. */
  readonly envelope?: Readonly<Record<string, unknown>>;
  readonly inputResponses?: Readonly<Record<string, unknown>>;
  readonly requestState: () => unknown;
  readonly elicitInput: (elicitation: Elicitation, options: object) => Promise<unknown>;
}

/** The part of a request by which version 1 of the SDK asks the user. */
export interface AskingV1 {
  readonly sendRequest: (request: object, schema: object, options: object) => Promise<unknown>;
}

const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** A person answers when they can. A client that does not want to wait cancels its call. */
const TIMEOUT_MS = 2 ** 31 - 1;

/**
 * `capabilities` are what a client of a protocol before 2026 has declared, if the server knows that. `left`: the client no
 * longer reads the answer, in whose stream the question would be.
 */
export function askingOf(
  mcpReq: AskingV2,
  capabilities: object | undefined,
  left: AbortSignal = new AbortController().signal,
): Asking {
  const { id: relatedRequestId, envelope, inputResponses = {} } = mcpReq;
  if (!envelope && capabilities && !canFillForms(capabilities)) return { type: "none" };
  // The SDK refuses what the client did not declare; an approval that cannot be asked for is denied.
  if (!envelope)
    return {
      type: "push",
      ask: (elicitation, over) => {
        const signal = AbortSignal.any([over, left]);
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

export function askingOfV1(extra: AskingV1): Asking {
  return {
    type: "push",
    ask: async (params, signal) => {
      const { z } = await import("zod");
      const elicited = z.looseObject({ action: z.string() });
      return extra.sendRequest({ method: "elicitation/create", params }, elicited, { signal, timeout: TIMEOUT_MS });
    },
  };
}
