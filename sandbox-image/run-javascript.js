// @ts-check
/*
 * Runs the JavaScript guest in a container: one program, in one fresh V8 isolate, then the container ends. The container
 * is the wall; the isolate gives programs the same closed realm, with the same heap limit, that they have elsewhere.
 *
 * Frames come in on descriptor 3 and leave on descriptor 4, as `bridge/wire.ts` describes. Nothing else happens here,
 * so both are blocking: there is no event loop to keep turning, and no work between two events.
 *
 * Arguments: the isolate's heap limit in bytes. Standard error is for the operator.
 */
"use strict";
const { readFileSync, readSync, writeSync } = require("node:fs");

const INCOMING = 3;
const OUTGOING = 4;
const PREFIX_BYTES = 4;
const SEPARATOR = "\u001e";
/** Longest time that frames wait for more frames to leave with, in milliseconds. */
const FLUSH_MS = 2;

/** @type {typeof import("isolated-vm")} */
const ivm = require("./isolated-vm.node").ivm;
const memoryBytes = Number(process.argv[2]);

const isolate = new ivm.Isolate({ memoryLimit: Math.max(8, Math.ceil(memoryBytes / 1_048_576)) });
const context = isolate.createContextSync();
const face = isolate
  .compileScriptSync(readFileSync(`${__dirname}/guest.js`, "utf8"), { filename: "guest.js" })
  .runSync(context, { reference: true });
/** @type {import("isolated-vm").Reference} */
const provide = face.getSync("provide", { reference: true });
provide.applySync(undefined, [readFileSync(`${__dirname}/globals.js`, "utf8")]);
/** @type {import("isolated-vm").Reference} */
const deliver = face.getSync("deliver", { reference: true });
/** @type {import("isolated-vm").Reference} */
const drain = face.getSync("drain", { reference: true });
/** @type {import("isolated-vm").Reference} */
const reject = face.getSync("reject", { reference: true });

// ---- out -------------------------------------------------------------------------------------------------------

let flushedAt = 0;

function flush() {
  flushedAt = performance.now();
  /** @type {string} */
  const drained = drain.applySync(undefined, []);
  if (drained === "") return;
  const frames = drained.split(SEPARATOR);
  const lengths = frames.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length + PREFIX_BYTES, 0));
  let offset = 0;
  frames.forEach((text, index) => {
    offset = bytes.writeUInt32BE(lengths[index] ?? 0, offset);
    offset += bytes.write(text, offset);
  });
  for (let sent = 0; sent < bytes.length;) sent += writeSync(OUTGOING, bytes, sent);
}

// ---- in --------------------------------------------------------------------------------------------------------

/** What was read and not taken yet: a part of `room`. */
let room = Buffer.allocUnsafe(64 * 1024);
let start = 0;
let end = 0;

/** Reads until so many bytes are there. */
function need(/** @type {number} */ bytes) {
  if (end - start >= bytes) return;
  if (room.length - start < bytes) {
    const larger = bytes > room.length ? Buffer.allocUnsafe(bytes) : room;
    room.copy(larger, 0, start, end);
    room = larger;
    end -= start;
    start = 0;
  }
  while (end - start < bytes) {
    const read = readSync(INCOMING, room, end, room.length - end, null);
    // The host has gone.
    if (read === 0) process.exit(0);
    end += read;
  }
}

function nextFrame() {
  need(PREFIX_BYTES);
  const bytes = room.readUInt32BE(start);
  need(PREFIX_BYTES + bytes);
  const text = room.toString("utf8", start + PREFIX_BYTES, start + PREFIX_BYTES + bytes);
  start += PREFIX_BYTES + bytes;
  if (start === end) start = end = 0;
  return text;
}

/**
 * Tells the guest what its program rejected in this turn and has not handled: isolated-vm throws the first of a turn. That
 * the isolate is gone shows when it is drained.
 * @param {unknown} error
 */
function tellRejection(error) {
  try {
    reject.applySync(undefined, [String(error instanceof Error ? error.stack : error)]);
  } catch {
    // What was rejected has no words, or the isolate is gone.
  }
}

function run() {
  flush();
  for (;;) {
    const event = nextFrame();
    try {
      deliver.applySync(undefined, [event]);
    } catch (error) {
      tellRejection(error);
    }
    // Events that have arrived together are turns of their own, but their frames leave together.
    if (end === start || performance.now() - flushedAt > FLUSH_MS) flush();
  }
}

try {
  run();
} catch (error) {
  // Read by the host as what V8 itself says when its heap is full.
  process.stderr.write(
    isolate.isDisposed
      ? "JavaScript heap out of memory\n"
      : `${error instanceof Error ? error.stack : "an unknown error"}\n`,
  );
  process.exit(1);
}
