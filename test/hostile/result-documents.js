// Tries: to have 300 MB past the weighing, as objects that say themselves what their JSON is.
// Ends: failed result_too_large
// Runs: large 1
await tools.large({ kind: "documents" });
