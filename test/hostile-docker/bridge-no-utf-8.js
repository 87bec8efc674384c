// Tries: to have each byte that it sends become three that the host keeps.
// Ends: crashed bridge_broken
// Records: violation
const text = Buffer.from('{"kind":"output","stream":"stdout","dropped":0}\n"');
const frame = Buffer.concat([Buffer.alloc(4), text, Buffer.alloc(1_000_000, 0xff), Buffer.from('"')]);
frame.writeUInt32BE(frame.length - 4);
writeAll(4, frame);
settle(1);
forever();
