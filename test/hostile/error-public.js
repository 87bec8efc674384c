// Tries: to have the cause of a public message come along with it.
// Ends: failed handler_failed: The row is locked.
await tools.fail({ how: "public" });
