// Tries: to return a value every look at which throws another such value.
// Ends: failed Error: cannot be read | failed Error: not an Error
const handler = new Proxy({}, { get: () => () => { throw new Proxy(() => {}, handler); } });
return new Proxy(() => {}, handler);
