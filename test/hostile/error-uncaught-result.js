// Tries: to have the host's own error end it, and be told in full (result).
// Ends: failed output_invalid
await tools.fail({ how: "result" });
