// Tries: to have the host's own error end it, and be told in full (error).
// Ends: failed handler_failed
await tools.fail({ how: "error" });
