// Tries: to have the host's own error end it, and be told in full (result).
// Ends: failed handler_failed
await tools.fail({ how: "result" });
