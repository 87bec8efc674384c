// Tries: to keep values under names that leave a folder, name a prototype, are long, or are more than there may be.
// Ends: completed {"refused":19,"budget":400,"kept":100}
const names = ["__proto__", "../a", "/etc/passwd", "a/../b", "a\\b", "a\u0000", "a\n", ".", "..", ".a", "a.", "-a", "a:b", "a\u202eb", "\ud800", "x".repeat(101), "x".repeat(3_000_000), "", " a"];
let refused = 0;
for (const name of names) await save(name, 1).catch(({ code }) => (refused += code === "input_invalid"));
const told = await Promise.allSettled(Array.from({ length: 500 }, (_, n) => save(`constructor${n}`, n)));
const budget = told.filter(({ reason }) => reason?.code === "budget_spent").length;
return { refused, budget, kept: told.length - budget };
