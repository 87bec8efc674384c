// Tries: to pass its own error off for a spent budget.
// Ends: failed budget_spent
throw Object.assign(new Error("mine"), { code: "budget_spent", tool: "read" });
