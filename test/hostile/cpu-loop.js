// Tries: to keep a core for itself.
// Ends: stopped cpuMs
for (;;);
