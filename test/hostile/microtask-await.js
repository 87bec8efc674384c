// Tries: to never hand the turn back, by awaiting what is there already.
// Ends: stopped runningMs
for (;;) await null;
