// Tries: to read items of nothing without an end.
// Ends: stopped cpuMs | stopped wallMs
let count = 0;
for await (const row of tools.bad_rows({ how: "endless" })) count += row === null ? 1 : 0;
return count;
