// Tries: to park memory in the arguments of timers that are far away.
// Ends: stopped memoryBytes
for (let index = 0; index < 9000; index += 1) setTimeout(() => {}, 2 ** 31, new Array(10_000).fill(index));
return "parked";
