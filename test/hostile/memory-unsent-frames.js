// Tries: to fill the guest's own outbox, by setting and clearing a timer without ever yielding.
// Ends: stopped memoryBytes | stopped runningMs
for (;;) clearTimeout(setTimeout(() => {}, 1000));
