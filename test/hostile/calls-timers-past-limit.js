// Tries: to set more timers than may be open, from the conversion of a timer's own wait.
// Ends: failed RangeError: timers may be open at once
for (let index = 0; index < 9990; index += 1) setTimeout(() => {}, 10_000);
let depth = 0;
const wait = {
  valueOf() {
    depth += 1;
    if (depth < 100) setTimeout(() => {}, wait);
    return 10_000;
  },
};
setTimeout(() => {}, wait);
await tools.read({ id: 1 });
return "past it";
