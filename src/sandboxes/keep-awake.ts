/** How long the event loop is kept awake for a guest's reply, in milliseconds. */
const SPIN_MS = 0.1;

let until = 0;
let spinning = false;

/**
 * Keeps the event loop from sleeping while a guest's reply is due. Waking a sleeping thread costs tens of
 * microseconds, several times as much as a short turn of a guest. Other events are still handled meanwhile.
 */
export function keepAwake(): void {
  until = performance.now() + SPIN_MS;
  if (spinning) return;
  spinning = true;
  setImmediate(spin);
}

/** Lets the event loop sleep again: the reply has arrived. */
export function stopKeepingAwake(): void {
  until = 0;
}

function spin(): void {
  spinning = performance.now() < until;
  if (spinning) setImmediate(spin);
}
