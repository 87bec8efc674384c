// Tries: to have bytes written out as numbers: a buffer of 90 MB makes 300 MB of JSON.
// Ends: failed result_too_large
// Runs: large 1
await tools.large({ kind: "bytes" });
