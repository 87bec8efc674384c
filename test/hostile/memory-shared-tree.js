// Tries: to have a value of 30 objects written out as 2^30, by itself, before the guest could count.
// Ends: stopped memoryBytes | stopped cpuMs
let tree = { leaf: "x".repeat(64) };
for (let depth = 0; depth < 30; depth += 1) tree = { left: tree, right: tree };
return JSON.stringify(tree).length;
