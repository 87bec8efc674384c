import { hash } from "node:crypto";
import type { Caller, CallContext, Effect } from "../tools/tool.ts";

/** What the owner's gate does not know of a call: where it was made. */
export interface OwnedFacts {
  readonly execution: string;
  readonly callId: string;
  readonly inputText: string;
  readonly context: unknown;
  /** Told of a question of the handler, which is declined. */
  readonly onQuestion: () => void;
  /** What its result has beside its value, for people. */
  shown: { readonly display?: unknown; readonly source?: string } | undefined;
}

/** The second argument of a handler at its owner: the facts of the call are those of the worker's journal. */
export class OwnedContext implements CallContext {
  readonly execution: string;
  readonly callId: string;
  readonly context: unknown;
  readonly caller: Caller;
  readonly effect: Effect;
  readonly tenant: string;
  readonly signal: AbortSignal;
  readonly resultBytes: number;
  readonly resultValues: number;
  readonly isNamed: CallContext["isNamed"];
  readonly #inputText: string;
  readonly #onQuestion: () => void;

  constructor(own: CallContext, facts: OwnedFacts) {
    const { caller, effect, tenant, signal, resultBytes, resultValues } = own;
    // The results of the worker's execution are not here: the owner's own gate knows this call alone.
    this.isNamed = (...about) => own.isNamed(...about);
    this.execution = facts.execution;
    this.callId = facts.callId;
    this.context = facts.context;
    this.caller = caller;
    this.effect = effect;
    this.tenant = tenant;
    this.signal = signal;
    this.resultBytes = resultBytes;
    this.resultValues = resultValues;
    this.#inputText = facts.inputText;
    this.#onQuestion = facts.onQuestion;
  }

  /** As a worker's own handler is given it. */
  get idempotencyKey(): string {
    const callId = this.callId.replaceAll("%", "%25").replaceAll(":", "%3A");
    return `${this.execution}:${callId}:${hash("sha256", this.#inputText)}`;
  }

  /** No question reaches the worker's approver from here. */
  readonly ask: CallContext["ask"] = async () => {
    this.#onQuestion();
    return false;
  };
}
