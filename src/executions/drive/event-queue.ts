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
export class EventQueue {
  readonly #send: (events: readonly GuestEvent[]) => void;
  #events: GuestEvent[] = [];
  /** Index of the first queued event. Removing the first entry of a long list is slow. */
  #first = 0;
  #unsent: GuestEvent[] = [];
  #isOpen = false;

  constructor(send: (events: readonly GuestEvent[]) => void) {
    this.#send = send;
  }

  get isEmpty(): boolean {
    return this.#events.length === this.#first;
  }

  /** Time of the latest event, in milliseconds since 1970; 0 if the queue is empty. */
  get now(): number {
    return this.#events.at(-1)?.head.now ?? 0;
  }

  open(): void {
    this.#unsent = this.#events.slice(this.#first);
    this.#isOpen = true;
    this.#flush();
  }

  close(): void {
    this.#isOpen = false;
  }

  push(event: GuestEvent): void {
    this.#events.push(event);
    const unsent = this.#unsent.push(event);
    if (!this.#isOpen || unsent > BATCH) return;
    const isGuestIdle = this.#events.length - this.#first === unsent;
    if (unsent === BATCH) this.#flush();
    else if (unsent === 1) void SETTLED.then(isGuestIdle ? this.#flush : this.#flushLater);
  }

  shift(): GuestEvent {
    const event = this.#events[this.#first];
    if (!event) throw new Error("A turn ended, but no event is queued.");
    // Its text may be large.
    this.#events[this.#first] = GONE;
    this.#first += 1;
    if (this.#first === this.#events.length || this.#first === KEPT) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
    return event;
  }

  readonly #flushLater = (): void => nextTick(this.#flush);

  readonly #flush = (): void => {
    if (!this.#isOpen || this.#unsent.length === 0) return;
    let length = 0;
    const over = this.#unsent.findIndex(({ text }) => (length += text.length) > FLUSH_LENGTH);
    const sent = over < 0 ? this.#unsent : this.#unsent.slice(0, over + 1);
    this.#unsent = over < 0 ? [] : this.#unsent.slice(over + 1);
    this.#send(sent);
    if (this.#unsent.length > 0) setImmediate(this.#flush);
  };
}
