import { describe, PortcullisError } from "../../errors.ts";
import { type Fields, isFields } from "../../values/fields.ts";
import type { CallResult, Model, ModelCall, ModelTurn, Opening } from "../../models/model.ts";
import type { ProviderOptions } from "../../models/provider/provider-options.ts";
import type { ProviderName } from "../../models/provider/providers.ts";
import { toolNamesOf } from "../../models/turn/tool-names.ts";

export type WireName = ProviderName;

/** A provider's protocol from the provider's side, to measure without it. Programs at the provider are not covered. */
export interface Wire {
  readonly provider: WireName;
  /** Whether o200k_base is this provider's encoding; otherwise counts are estimates. */
  readonly exact: boolean;
  /** Makes the adapter, which sends its requests through `fetch`. */
  connect(fetch: typeof globalThis.fetch): Model;
  /** JSON value of the reply with this turn of the model, in a conversation with this opening. */
  replyOf(turn: GivenTurn["turn"], opening: Opening): unknown;
  /** The parts of a request's body that the model reads, in order. Throws `option_invalid` for any other body. */
  partsOf(request: unknown): RequestParts;
}

/** One turn of a given conversation, and the results of its calls. A turn of a transcript is a `GivenTurn`. */
export interface GivenTurn {
  readonly turn: Pick<ModelTurn, "text" | "calls" | "end">;
  readonly results: readonly CallResult[];
}

/** What a model reads of a request, without the envelope round its parts, which differs by provider. */
export interface RequestParts {
  readonly instructions: string;
  /** JSON text of the declarations as they were sent; empty without declarations. */
  readonly definitions: string;
  readonly parts: readonly RequestPart[];
  /** Whether the provider keeps the request for the next one: it is asked to, or does so by itself. */
  readonly isCached: boolean;
}

export type RequestPart =
  /** `said` by the user; `words` of the model itself. */
  | { readonly type: "said" | "words"; readonly text: string }
  /** `text` is what the model wrote as input: JSON arguments, or a program's source if the protocol takes it as plain text. */
  | { readonly type: "call"; readonly callId: string; readonly name: string; readonly text: string }
  | { readonly type: "result"; readonly callId: string; readonly text: string };

/** Options of an adapter whose `fetch` reaches no provider. */
export function offline(fetch: typeof globalThis.fetch): ProviderOptions {
  return { model: "offline", apiKey: "offline", stream: false, retries: 0, fetch };
}

/** The error for a body, or a place in it, that this provider's adapter does not send. */
export function notSent(provider: WireName, place: string, got: unknown): PortcullisError {
  return new PortcullisError(
    "option_invalid",
    `This is not a request of ${provider}: its ${place} is ${describe(got)}, which partsOf cannot read. Pass the parsed body of a request that the adapter made; if the adapter made this request, extend partsOf.`,
  );
}

/** JSON text of the declarations; empty without declarations. */
export function definitionsOf(tools: readonly unknown[]): string {
  return tools.length === 0 ? "" : JSON.stringify(tools);
}

/** A text as a part; no part if the text is empty. */
export function textPart(type: "said" | "words", text: string): RequestPart[] {
  return text === "" ? [] : [{ type, text }];
}

/** The provider's name of what is called: adapters map names that the provider would not accept. */
export function givenName(call: ModelCall, opening: Opening): string {
  return call.type === "program_call" ? (opening.runProgram?.name ?? "") : toolNamesOf(opening).given(call.tool);
}

/** A call's input as JSON text, for a protocol in which programs are JSON too. */
export function argumentsText(call: ModelCall): string {
  return call.type === "tool_call" ? call.inputText : JSON.stringify({ code: call.source });
}

/** A call's input for a protocol that takes objects only: `{}` if the input is not an object. */
export function argumentsObject(call: ModelCall): Fields {
  try {
    const value: unknown = JSON.parse(argumentsText(call));
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}
