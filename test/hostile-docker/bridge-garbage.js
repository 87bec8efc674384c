// Tries: to send bytes that are no frames at all, without end.
// Ends: crashed bridge_broken
// Records: violation
const bytes = Buffer.from(Array.from({ length: 1_000_000 }, (_, index) => (index * 7919) % 251));
for (;;) writeAll(4, bytes);
