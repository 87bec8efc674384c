// Tries: to be revoked between the guest's look at its type and its reading.
// Ends: failed TypeError
const { proxy, revoke } = Proxy.revocable([], {});
return { get first() { revoke(); return 1; }, second: proxy };
