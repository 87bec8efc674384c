// Tries: to square an integer again and again.
// Ends: stopped cpuMs | stopped memoryBytes
let value = 12_345_678_901_234_567_890n;
for (;;) value = (value * value) % (1n << 4_000_000n);
