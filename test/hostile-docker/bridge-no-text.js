// Tries: to send bytes that are no text.
// Ends: crashed bridge_broken
// Records: violation
writeAll(4, Buffer.from([0, 0, 0, 6, 123, 0xff, 0xfe, 0xed, 0xa0, 0x80]));
forever();
