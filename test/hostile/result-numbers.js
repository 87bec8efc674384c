// Tries: to have a result of 300 MB turned into text (numbers).
// Ends: failed result_too_large
// Runs: large 1
await tools.large({ kind: "numbers" });
