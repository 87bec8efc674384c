/** How long the host looks for a guest's reply before it sleeps, in milliseconds. */
const SPIN_MS = 0.1;

let until = 0;
let looking = false;

/**
 * Keeps the event loop turning for a moment, because a reply is due: to fall asleep and be woken costs a thread
 * tens of microseconds, several times what a short turn of a guest takes. Everything else is served meanwhile.
 */
export function keepAwake(): void {
  until = performance.now() + SPIN_MS;
  if (looking) return;
  looking = true;
  setImmediate(look);
}

/** The reply has come. */
export function stopKeepingAwake(): void {
  until = 0;
}

function look(): void {
  looking = performance.now() < until;
  if (looking) setImmediate(look);
}
