// Tries: to keep a small value for as long as it may call.
// Ends: stopped calls | stopped wallMs | stopped cpuMs
for (;;) await save("a", 1);
