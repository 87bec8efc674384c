// Tries: to throw, in a timer, what can neither be read nor written out.
// Ends: failed Error
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
setTimeout(() => { throw proxy; }, 0);
await new Promise(() => {});
