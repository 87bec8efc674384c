// Tries: to spend its time in ICU, normalising a text that grows by it.
// Ends: stopped cpuMs | stopped memoryBytes
const text = "\ufdfa".repeat(200_000);
for (;;) text.normalize("NFKD").normalize("NFC");
