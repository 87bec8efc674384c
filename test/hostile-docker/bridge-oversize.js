// Tries: to have the host make room for a frame of 4 GiB.
// Ends: crashed bridge_broken
// Records: violation
writeAll(4, Buffer.from([255, 255, 255, 255, 123]));
forever();
