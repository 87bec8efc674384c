// Tries: to speak to the engine itself: a debugger statement, V8's own functions.
// Ends: completed ["SyntaxError","SyntaxError","SyntaxError"]
debugger;
return ["%DebugPrint(1)", "%SystemBreak()", "%GetOptimizationStatus(eval)"].map((text) => {
  try {
    return typeof (0, eval)(text);
  } catch (error) {
    return error.name;
  }
});
