// Tries: to never hand the turn back, by awaiting what is there already.
// Ends: stopped cpuMs
for (;;) await null;
