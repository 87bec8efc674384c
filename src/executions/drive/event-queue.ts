import { nextTick, setImmediate } from "../../base/index.ts";
import type { GuestEvent } from "../guest/guest-event.ts";

/** Length of event text sent before the host's thread is yielded, in characters. */
const FLUSH_LENGTH = 4 * 1024 * 1024;

const KEPT = 1024;

const GONE: GuestEvent = { head: { kind: "stop", now: 0 }, text: "" };

/** `queueMicrotask` takes several times as long. */
const SETTLED = Promise.resolve();

/** Events sent together while the guest has others to work on. */
const BATCH = 32;

/**
 * Events whose turns have not ended, in order. They are sent only while the queue is open. A guest that has nothing to
 * do is sent an event at once, so that it begins with the first answer. Otherwise several events are sent together,
 * because each write costs as much as a turn.
 */
export function eventQueue(send: (events: readonly GuestEvent[]) => void) {
  let events: GuestEvent[] = [];
  /** Index of the first queued event. Removing the first entry of a long list is slow. */
  let first = 0;
  let unsentEvents: GuestEvent[] = [];
  let isOpen = false;
  const flushLater = (): void => nextTick(flush);
  const flush = (): void => {
    if (!isOpen || unsentEvents.length === 0) return;
    let length = 0;
    const over = unsentEvents.findIndex(({ text }) => (length += text.length) > FLUSH_LENGTH);
    const sent = over < 0 ? unsentEvents : unsentEvents.slice(0, over + 1);
    unsentEvents = over < 0 ? [] : unsentEvents.slice(over + 1);
    send(sent);
    if (unsentEvents.length > 0) setImmediate(flush);
  };

  return {
    get isEmpty(): boolean {
      return events.length === first;
    },

    /** Time of the latest event, in milliseconds since 1970; 0 if the queue is empty. */
    get now(): number {
      return events.at(-1)?.head.now ?? 0;
    },

    open(): void {
      unsentEvents = events.slice(first);
      isOpen = true;
      flush();
    },

    close(): void {
      isOpen = false;
    },

    push(event: GuestEvent): void {
      events.push(event);
      const unsent = unsentEvents.push(event);
      if (!isOpen || unsent > BATCH) return;
      const isGuestIdle = events.length - first === unsent;
      if (unsent === BATCH) flush();
      else if (unsent === 1) void SETTLED.then(isGuestIdle ? flush : flushLater);
    },

    shift(): GuestEvent {
      const event = events[first];
      if (!event) throw new Error("A turn ended, but no event is queued.");
      // Its text may be large.
      events[first] = GONE;
      first += 1;
      if (first === events.length || first === KEPT) {
        events = events.slice(first);
        first = 0;
      }
      return event;
    },
  };
}

export type EventQueue = ReturnType<typeof eventQueue>;
