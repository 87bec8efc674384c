// Tries: to tire the collector with a WeakMap whose every value keeps the next key.
// Ends: stopped memoryBytes | stopped cpuMs
const map = new WeakMap();
let key = {};
const first = key;
for (;;) {
  const next = { first };
  map.set(key, next);
  key = next;
}
