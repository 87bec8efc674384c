// Tries: to close its bridge and to go on without.
// Ends: stopped cpuMs | crashed engine_died
for (const descriptor of [0, 1, 2, 3, 4]) fs.closeSync(descriptor);
for (;;);
