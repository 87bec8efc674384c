import { monotonic, setImmediate } from "../base/index.ts";

/** How long the event loop is kept awake for a guest's reply, in milliseconds. */
const SPIN_MS = 0.1;

let until = 0;
let spinning = false;
/** How many guests owe a reply. */
let due = 0;

/** Whether one guest owes a reply. */
export class DueReply {
  #isDue = false;

  expect(): void {
    if (!this.#isDue) due += 1;
    this.#isDue = true;
  }

  /** Something has come from the guest, or nothing more will: lets the event loop sleep again. */
  forget(): void {
    if (this.#isDue) due -= 1;
    this.#isDue = false;
    until = 0;
  }
}

/**
 * Keeps the event loop from sleeping while the reply of one guest is due. Waking a sleeping thread costs tens of
 * microseconds, several times as much as a short turn of a guest. Other events are still handled meanwhile. If the replies
 * of several guests are due, the loop does not stay awake: it would take the core of one of them.
 */
export function keepAwake(): void {
  until = monotonic() + SPIN_MS;
  if (spinning || due > 1) return;
  spinning = true;
  setImmediate(spin);
}

function spin(): void {
  spinning = due <= 1 && monotonic() < until;
  if (spinning) setImmediate(spin);
}
