// Tries: to pass its own error off for a value that was too large.
// Ends: failed Error: mine
throw Object.assign(new Error("mine"), { code: "value_too_large" });
