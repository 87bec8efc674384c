// Tries: to ask for 30 MB of answers and to read none, for them to pile up in the host.
// Ends: stopped cpuMs
const value = "x".repeat(900_000);
say(...Array.from({ length: 33 }, (_, index) => call(index + 1, "echo", { value })), turnEnd(33));
for (;;);
