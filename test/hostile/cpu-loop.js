// Tries: to keep a core for itself.
// Ends: stopped runningMs
for (;;);
