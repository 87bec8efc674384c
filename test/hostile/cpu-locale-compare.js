// Tries: to compare long texts by a language's rules, without an end.
// Ends: stopped cpuMs
const { compare } = new Intl.Collator("sv", { sensitivity: "base" });
const left = `${"å".repeat(1_000_000)}a`;
const right = `${"å".repeat(1_000_000)}b`;
for (;;) compare(left, right);
