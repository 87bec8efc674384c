// Tries: to sleep as long as a timer can, and longer.
// Ends: stopped wallMs
await new Promise((resolve) => {
  setTimeout(resolve, 1e15);
});
return "slept";
