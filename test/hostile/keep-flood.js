// Tries: to fill the host's memory and journal by keeping one value after the other.
// Ends: stopped totalBytes | stopped calls | stopped wallMs | stopped cpuMs
const value = "x".repeat(3_900_000);
for (let n = 0; ; n += 1) await save(`a${n % 50}`, value + n);
