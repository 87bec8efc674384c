// Tries: to have 64 results of 300 MB weighed at the same time.
// Ends: completed ["result_too_large"] | stopped wallMs
// Runs: large 64
const kinds = ["rows", "numbers", "keys", "string"];
const results = await Promise.allSettled(Array.from({ length: 64 }, (_, index) => tools.large({ kind: kinds[index % 4] })));
return [...new Set(results.map(({ reason }) => reason.code))];
