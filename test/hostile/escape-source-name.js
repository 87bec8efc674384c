// Tries: to pass for the guest's own script in stacks, by a name of its own choice.
// Ends: failed Error: from program.js
//# sourceURL=guest.js
const { stack } = new Error();
//# sourceURL=/etc/passwd
throw new Error(stack.includes("program.js") ? "from program.js" : stack);
//# sourceURL=engine.js
