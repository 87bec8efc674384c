// Tries: to read a stream without an end.
// Ends: stopped cpuMs | stopped wallMs
let count = 0;
for await (const row of tools.rows({})) count += row.text.length;
return count;
