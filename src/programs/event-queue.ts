import type { GuestEvent } from "./guest-event.ts";

/** Text of events that is sent before others get the host's thread, in characters. */
const FLUSH_LENGTH = 4 * 1024 * 1024;

/** Events whose turns have not ended, in their order. They are sent while the queue is open. */
export class EventQueue {
  readonly #send: (events: readonly GuestEvent[]) => void;
  /** Sent or not. */
  readonly #events: GuestEvent[] = [];
  #unsent: GuestEvent[] = [];
  #isOpen = false;

  constructor(send: (events: readonly GuestEvent[]) => void) {
    this.#send = send;
  }

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** The time that the latest event carries, in milliseconds since 1970; 0 where there is none. */
  get now(): number {
    return this.#events.at(-1)?.head.now ?? 0;
  }

  /** Opens the queue for a guest that has been sent none of its events. */
  open(): void {
    this.#unsent = [...this.#events];
    this.#isOpen = true;
    this.#flush();
  }

  /** Nothing more is sent until the queue is opened for another guest. */
  close(): void {
    this.#isOpen = false;
  }

  push(event: GuestEvent): void {
    this.#events.push(event);
    if (this.#unsent.push(event) === 1 && this.#isOpen) queueMicrotask(() => this.#flush());
  }

  /** Takes out the event whose turn has ended: the first one. */
  shift(): GuestEvent {
    const event = this.#events.shift();
    if (!event) throw new Error("A turn has ended that no event began.");
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
