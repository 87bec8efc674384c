// Tries: to keep all rows of a stream without an end.
// Ends: stopped memoryBytes | stopped cpuMs
const rows = await Array.fromAsync(tools.rows({ size: 5000 }));
return rows.length;
