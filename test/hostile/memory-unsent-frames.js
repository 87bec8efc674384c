// Tries: to fill the guest's own outbox, by setting and clearing a timer without ever yielding.
// Ends: stopped memoryBytes | stopped cpuMs
for (;;) clearTimeout(setTimeout(() => {}, 1000));
