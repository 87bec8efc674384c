// Tries: to overflow the engine's own stack with a chain of proxies.
// Ends: failed RangeError
let chain = {};
for (let depth = 0; depth < 200_000; depth += 1) chain = new Proxy(chain, {});
return chain.missing;
