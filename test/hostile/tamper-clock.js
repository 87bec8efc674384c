// Tries: to find the machine's own clock, or to turn the guest's back.
// Ends: completed {"stood":true,"rose":true}
const clocks = () => [
  Date.now(),
  new Date().getTime(),
  performance.now(),
  Reflect.construct(Date, []).getTime(),
  Reflect.construct(Date, [], Object).constructor === Object ? 0 : 1,
  Date(),
  new Date().constructor(),
  Object.getPrototypeOf(new Date()).constructor.now(),
  new (class extends Date {})().getTime(),
  new Intl.DateTimeFormat("en", { timeStyle: "full", fractionalSecondDigits: undefined }).format(),
  new Intl.DateTimeFormat("en", { second: "numeric", fractionalSecondDigits: 3 }).formatToParts().map(({ value }) => value).join(),
  new Date(undefined).getTime(),
].join();
const before = clocks();
for (let round = 0; round < 30_000_000; round += 1) Math.sqrt(round);
const stood = clocks() === before;
await tools.slow({ ms: 20 });
return { stood, rose: clocks() !== before };
