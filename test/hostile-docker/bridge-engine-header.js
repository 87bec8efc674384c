// Tries: to be taken for the engine, by bytes that look like its own between two outputs.
// Ends: crashed bridge_broken
// Records: violation
writeAll(4, Buffer.from([1, 0, 0, 0, 0, 0, 0, 4, 123, 125, 10, 10]));
writeAll(2, Buffer.from([1, 0, 0, 0, 255, 255, 255, 255]));
forever();
