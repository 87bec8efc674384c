// Tries: to go on after an error in a timer has ended it, and to return a value.
// Ends: failed Error: from a timer
// Runs: write 0
setTimeout(() => {
  queueMicrotask(() => tools.write({ id: 1 }));
  throw new Error("from a timer");
}, 0);
await new Promise((resolve) => {
  setTimeout(resolve, 1);
});
return "returned all the same";
