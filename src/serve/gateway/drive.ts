import type { AgentEnding } from "../../conversations/ending.ts";
import type { AgentEvent } from "../../conversations/event.ts";
import { PortcullisError } from "../../base/index.ts";

/** The request that a conversation is driven for. */
export interface Asking {
  /** Aborted when its client leaves. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: AgentEvent) => void;
  /** The calls that it answers. */
  readonly answered: ReadonlySet<string>;
}

/** Drives a conversation for one request, or for the next ones too while a program that cannot be put down waits for them. */
export class Drive {
  readonly #ended: Promise<AgentEnding>;
  readonly #leaving = new AbortController();
  #asking: Asking | undefined;
  #held = Promise.withResolvers<undefined>();

  constructor(work: (signal: AbortSignal, onEvent: (event: AgentEvent) => void) => Promise<AgentEnding>) {
    this.#ended = work(this.#leaving.signal, (event) => this.#take(event));
    // Between two requests nobody waits for it.
    this.#ended.catch(() => {});
  }

  /** Resolves with how the conversation rests, or with undefined once it waits for its client and keeps its process. */
  async untilAnswer(asking: Asking, note?: () => Promise<void>): Promise<AgentEnding | undefined> {
    const { signal } = asking;
    this.#asking = asking;
    this.#held = Promise.withResolvers();
    // A client that has left may ask again: the conversation is left as it is, for then.
    const onLeft = () => this.#leaving.abort(new PortcullisError("runtime_suspended", "The client has left."));
    if (signal.aborted) onLeft();
    signal.addEventListener("abort", onLeft, { once: true });
    try {
      await note?.();
      return await Promise.race([this.#ended, this.#held.promise]);
    } finally {
      signal.removeEventListener("abort", onLeft);
      this.#asking = undefined;
    }
  }

  #take(event: AgentEvent): void {
    const { onEvent, answered } = this.#asking ?? {};
    onEvent?.(event);
    if (event.type !== "conversation_waiting" || event.held === undefined) return;
    // Answers to several programs arrive one after the other.
    if (!event.waiting.calls.some(({ callId }) => answered?.has(callId))) this.#held.resolve(undefined);
  }
}
