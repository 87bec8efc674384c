// Stands before each hostile program for node: the bridge as a guest has it, for whoever means harm.
"use strict";
const fs = require("node:fs");
const { spawn, spawnSync } = require("node:child_process");
function frameBytes(text) {
  const bytes = Buffer.from(text);
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(bytes.length);
  return Buffer.concat([prefix, bytes]);
}
function writeAll(descriptor, bytes) {
  for (let sent = 0; sent < bytes.length;) sent += fs.writeSync(descriptor, bytes, sent);
}
const say = (...frames) => writeAll(4, Buffer.concat(frames.map(frameBytes)));
const call = (id, tool, input = {}) =>
  `{"kind":"call","id":${id},"tool":${JSON.stringify(tool)}}\n${JSON.stringify(input)}`;
const turnEnd = (open) => `{"kind":"turn_end","open":${open}}`;
const settled = (value) => `{"kind":"settled","ok":true,"notes":[]}\n${JSON.stringify(value)}`;
const settle = (value) => say(settled(value));
/** Blocks until the host has sent something. */
function readSome() {
  const bytes = Buffer.alloc(65536);
  return bytes.subarray(0, fs.readSync(3, bytes, 0, bytes.length, null));
}
const forever = () => setInterval(() => {}, 1000);
say('{"kind":"ready","protocol":1,"language":"javascript"}');
readSome();
