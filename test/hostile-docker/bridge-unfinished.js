// Tries: to announce a frame, and to send it byte by byte, and never all of it.
// Ends: stopped cpuMs
writeAll(4, Buffer.from([0, 63, 0, 0]));
for (;;) fs.writeSync(4, "{");
