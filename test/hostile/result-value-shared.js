// Tries: to return 40 objects that are 2^40 when written out.
// Ends: stopped frameBytes | stopped cpuMs
let tree = { leaf: "x" };
for (let depth = 0; depth < 40; depth += 1) tree = { left: tree, right: tree };
return tree;
