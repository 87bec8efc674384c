// Tries: to start processes that start processes, for ever.
// Ends: stopped cpuMs
for (;;) spawnSync("/bin/sh", ["-c", "b() { b | b & b; }; b"], { timeout: 50 });
