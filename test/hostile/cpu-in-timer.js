// Tries: to loop inside a timer's callback.
// Ends: stopped cpuMs
setTimeout(() => {
  for (;;);
}, 1);
await new Promise(() => {});
