// Tries: to flood the host while it waits for a tool, and not the program.
// Ends: crashed bridge_broken
// Records: violation
say(call(1, "hang"), turnEnd(1));
const text = Buffer.alloc(100_000, "noise ");
for (;;) writeAll(2, text);
