// Tries: to throw from a timer after it has returned.
// Ends: completed "returned"
setTimeout(() => {
  throw new Error("too late");
}, 0);
queueMicrotask(() => setTimeout(() => tools.write({ id: 1 }), 0));
return "returned";
