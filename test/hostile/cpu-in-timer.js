// Tries: to loop inside a timer's callback.
// Ends: stopped runningMs
setTimeout(() => {
  for (;;);
}, 1);
await new Promise(() => {});
