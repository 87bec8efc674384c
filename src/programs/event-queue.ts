import type { GuestEvent } from "./guest-event.ts";

/** Length of event text sent before the host's thread is yielded, in characters. */
const FLUSH_LENGTH = 4 * 1024 * 1024;

/** Events whose turns have not ended, in order. They are sent only while the queue is open. */
export class EventQueue {
  readonly #send: (events: readonly GuestEvent[]) => void;
  /** All queued events, sent and unsent. */
  readonly #events: GuestEvent[] = [];
  #unsent: GuestEvent[] = [];
  #isOpen = false;

  constructor(send: (events: readonly GuestEvent[]) => void) {
    this.#send = send;
  }

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** Time of the latest event, in milliseconds since 1970; 0 if the queue is empty. */
  get now(): number {
    return this.#events.at(-1)?.head.now ?? 0;
  }

  /** Opens the queue for a new guest and sends it all queued events. */
  open(): void {
    this.#unsent = [...this.#events];
    this.#isOpen = true;
    this.#flush();
  }

  /** Stops sending until the queue is opened for another guest. */
  close(): void {
    this.#isOpen = false;
  }

  push(event: GuestEvent): void {
    this.#events.push(event);
    if (this.#unsent.push(event) === 1 && this.#isOpen) queueMicrotask(() => this.#flush());
  }

  /** Removes and returns the first event, whose turn has ended. */
  shift(): GuestEvent {
    const event = this.#events.shift();
    if (!event) throw new Error("A turn ended, but no event is queued.");
    return event;
  }

  #flush(): void {
    if (!this.#isOpen || this.#unsent.length === 0) return;
    let length = 0;
    const over = this.#unsent.findIndex(({ text }) => (length += text.length) > FLUSH_LENGTH);
    const sent = over < 0 ? this.#unsent : this.#unsent.slice(0, over + 1);
    this.#unsent = over < 0 ? [] : this.#unsent.slice(over + 1);
    this.#send(sent);
    if (this.#unsent.length > 0) setImmediate(() => this.#flush());
  }
}
