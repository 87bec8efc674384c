import { addAbortListener } from "node:events";
import type { AgentEnding, AgentEvent } from "../../conversations/event.ts";
import { PortcullisError, ignore } from "../../base/index.ts";

/** The request that a conversation is driven for. */
interface Asking {
  /** Aborted when its client leaves. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: AgentEvent) => void;
  /** The calls that it answers. */
  readonly answered: ReadonlySet<string>;
}

/** Resolves with how the conversation rests, or with undefined once it waits for its client and keeps its process. */
export type Drive = (asking: Asking, note?: () => Promise<void>) => Promise<AgentEnding | undefined>;

/** Drives a conversation for one request, or for the next ones too while a program that cannot be put down waits for them. */
export function begunDrive(
  work: (signal: AbortSignal, onEvent: (event: AgentEvent) => void) => Promise<AgentEnding>,
): Drive {
  const leaving = new AbortController();
  let asking: Asking | undefined;
  let held = Promise.withResolvers<undefined>();
  const ended = work(leaving.signal, (event) => {
    const { onEvent, answered } = asking ?? {};
    onEvent?.(event);
    if (event.type !== "conversation_waiting" || event.held === undefined) return;
    // Answers to several programs arrive one after the other.
    if (!event.waiting.calls.some(({ callId }) => answered?.has(callId))) held.resolve(undefined);
  });
  // Between two requests nobody waits for it.
  ended.catch(ignore);
  return async (asked, note) => {
    asking = asked;
    held = Promise.withResolvers();
    // A client that has left may ask again: the conversation is left as it is, for then.
    using _ = addAbortListener(asked.signal, () =>
      leaving.abort(new PortcullisError("runtime_suspended", "The client has left.")),
    );
    try {
      await note?.();
      return await Promise.race([ended, held.promise]);
    } finally {
      asking = undefined;
    }
  };
}
