// Tries: to keep a sort busy with an order that contradicts itself.
// Ends: stopped cpuMs
const values = Float64Array.from({ length: 500_000 }, (_, index) => index);
for (let turn = 0; ; turn += 1) values.sort((left, right) => ((left * 31 + right * 17 + turn) % 3) - 1);
