// Tries: to keep the host busy with errors: 10,000 calls that fail, all caught.
// Ends: completed 5000 | stopped cpuMs
const results = await Promise.allSettled(Array.from({ length: 5000 }, () => tools.fail({ how: "error" })));
return results.filter(({ reason }) => reason.code === "handler_failed").length;
