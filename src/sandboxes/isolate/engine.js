// @ts-check
/*
 * The engine: the child process in which one program at a time runs in one fresh V8 isolate. It is plain
 * JavaScript, run as it lies here: stripping types at start costs every engine 30 ms and 16 MB.
 *
 * It lives only for the guest, so it may run the guest on its own thread. It is never asked to stop; the host ends
 * it with SIGKILL. What it understands are frames for the guest, which begin with "{", and the host's own words,
 * which do not:
 *
 *   host:   prepare BYTES   make the isolate for the next program, with this heap limit, in place of the last
 *   engine: prepared        the isolate stands, its guest's first frames follow
 *   engine: memory          the isolate went over its heap limit; the engine ends
 *   engine: broken DETAIL   the guest broke; the engine ends
 *
 * A guest's frame that does not begin with "{" could be taken for one of these words, so it ends the engine.
 *
 * Arguments: path of the guest script, path of isolated-vm's binary, "watch" or "kernel" (who ends this process when
 * its host is gone).
 */
import { readFileSync, readSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";
import { Worker } from "node:worker_threads";

const PIPE = 3;
const LIFELINE = 4;
const PREFIX_BYTES = 4;
const SEPARATOR = "\u001e";
const BRACE = 123;
/** Longest time that frames wait for more frames to leave with, in milliseconds. */
const FLUSH_MS = 2;
/** Room for what is read at once, in bytes, where no frame is larger. */
const ROOM_BYTES = 64 * 1024;

const [guestPath = "", addonPath = "", parentDeath = ""] = process.argv.slice(2);
/** @type {typeof import("isolated-vm")} */
const ivm = createRequire(import.meta.url)(addonPath).ivm;
const guestSource = readFileSync(guestPath, "utf8");

// ---- the guest -------------------------------------------------------------------------------------------------

// Compiling the guest whole once, and every later isolate's from that code, takes 0.7 ms off each program's start.
setFlagsFromString("--no-lazy");
// A program that catches an overflow of its stack learns how deep that was, and must learn the same when it runs again.
// How large a function's frames are depends on how well it is compiled. So what is compiled better, and when, may depend
// on nothing but what the program does: not on when another thread has finished, nor on what was garbage at some moment.
for (const flag of [
  "--no-concurrent-recompilation",
  "--no-concurrent-osr",
  "--no-concurrent-sparkplug",
  "--no-allocation-site-pretenuring",
  "--no-flush-bytecode",
])
  setFlagsFromString(flag);
/** @type {import("isolated-vm").ExternalCopy<ArrayBuffer> | undefined} */
let compiledGuest;

/** @typedef {import("isolated-vm").Reference} Reference */
/** @type {{ isolate: import("isolated-vm").Isolate, deliver: Reference, drain: Reference } | undefined} */
let guest;

/** @param {number} memoryBytes */
function prepare(memoryBytes) {
  guest?.isolate.dispose();
  const isolate = new ivm.Isolate({ memoryLimit: Math.max(8, Math.ceil(memoryBytes / 1_048_576)) });
  const context = isolate.createContextSync();
  const script = isolate.compileScriptSync(guestSource, {
    filename: "guest.js",
    ...(compiledGuest ? { cachedData: compiledGuest } : { produceCachedData: true }),
  });
  compiledGuest ??= /** @type {import("isolated-vm").CachedDataResult} */ (script).cachedData;
  const face = script.runSync(context, { reference: true });
  guest = {
    isolate,
    deliver: face.getSync("deliver", { reference: true }),
    drain: face.getSync("drain", { reference: true }),
  };
  queue("prepared");
  take(drain());
}

/** @param {string} text */
function deliver(text) {
  try {
    guest?.deliver.applySync(undefined, [text]);
  } catch {
    // isolated-vm throws here what the program rejected and has not handled yet: its own business, and no ending.
    // That the isolate is gone shows when it is drained.
  }
}

/** @returns {unknown} */
function drain() {
  try {
    return guest?.drain.applySync(undefined, []) ?? "";
  } catch (error) {
    return end(
      guest?.isolate.isDisposed
        ? "memory"
        : `broken ${error instanceof Error ? error.message : String(error)}`.slice(0, 500),
    );
  }
}

/** @param {unknown} drained */
function take(drained) {
  if (typeof drained !== "string") return end("broken the guest drained something that is not text");
  if (drained === "") return;
  for (const frame of drained.split(SEPARATOR)) {
    if (frame.charCodeAt(0) !== BRACE) end("broken a frame is not an object");
    queue(frame);
  }
}

function run() {
  for (let word = nextMessage(); ;) word = serve(Number(word.slice("prepare ".length)));
}

/**
 * Serves one program, and returns the host's first word after it. Nothing else happens meanwhile, so reading and writing
 * wait. Each event is delivered and drained by itself, so that it does not depend on when the next one has arrived.
 * @param {number} memoryBytes
 */
function serve(memoryBytes) {
  prepare(memoryBytes);
  for (;;) {
    const message = nextMessage();
    if (message.charCodeAt(0) !== BRACE) return message;
    deliver(message);
    take(drain());
  }
}

// ---- the pipe --------------------------------------------------------------------------------------------------

/** What was read and not taken yet: a part of `room`. */
let room = Buffer.allocUnsafeSlow(ROOM_BYTES);
let start = 0;
let filled = 0;
/** @type {string[]} */
let outgoing = [];
let flushedAt = 0;

/** @returns {string} */
function nextMessage() {
  // Events that have arrived together are turns of their own, but their frames leave together.
  if (performance.now() - flushedAt > FLUSH_MS) flush();
  need(PREFIX_BYTES);
  const bytes = room.readUInt32BE(start);
  need(PREFIX_BYTES + bytes);
  const text = room.toString("utf8", start + PREFIX_BYTES, start + PREFIX_BYTES + bytes);
  start += PREFIX_BYTES + bytes;
  if (start === filled) {
    start = filled = 0;
    if (room.length > ROOM_BYTES) room = Buffer.allocUnsafeSlow(ROOM_BYTES);
  }
  return text;
}

/** Reads until so many bytes are there. @param {number} bytes */
function need(bytes) {
  if (filled - start >= bytes) return;
  flush();
  if (room.length - start < bytes) {
    const larger = bytes > room.length ? Buffer.allocUnsafeSlow(bytes) : room;
    room.copy(larger, 0, start, filled);
    room = larger;
    filled -= start;
    start = 0;
  }
  while (filled - start < bytes) filled += read();
}

/** @returns {number} */
function read() {
  let bytes = 0;
  try {
    bytes = readSync(PIPE, room, filled, room.length - filled, null);
  } catch {
    endNow();
  }
  return bytes > 0 ? bytes : endNow();
}

/** @param {string} text */
function queue(text) {
  outgoing.push(text);
}

function flush() {
  flushedAt = performance.now();
  if (outgoing.length === 0) return;
  const lengths = outgoing.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length + PREFIX_BYTES, 0));
  let offset = 0;
  outgoing.forEach((text, index) => {
    offset = bytes.writeUInt32BE(lengths[index] ?? 0, offset);
    offset += bytes.write(text, offset);
  });
  outgoing = [];
  try {
    for (let sent = 0; sent < bytes.length;) sent += writeSync(PIPE, bytes, sent);
  } catch {
    endNow();
  }
}

// ---- the end ---------------------------------------------------------------------------------------------------

/** Says why, and ends as a stuck engine would be ended: a normal exit waits for threads. @param {string} word @returns {never} */
function end(word) {
  queue(word);
  flush();
  return endNow();
}

/** @returns {never} */
function endNow() {
  process.kill(process.pid, "SIGKILL");
  throw new Error("unreachable");
}

if (parentDeath === "watch") {
  // A busy engine does not notice the end of its pipe, so a thread of its own waits for the end of a second one.
  const source = `try { require("node:fs").readSync(${LIFELINE}, Buffer.alloc(1)); } catch {} process.kill(process.pid, "SIGKILL");`;
  new Worker(source, {
    eval: true,
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
  }).unref();
}

// ---- the loop --------------------------------------------------------------------------------------------------

// V8 counts the stack from where the thread's begins, so what lies below the guest must be the same at every event, in
// every engine. These functions lie there. Compiled better they would have other frames, so they never are; and the loop
// is never left, for node's own functions would lie there otherwise.
setFlagsFromString("--allow-natives-syntax");
const keepFrames = new Script("(one) => %NeverOptimizeFunction(one)").runInThisContext();
for (const one of [run, serve, prepare, deliver, drain]) keepFrames(one);
setFlagsFromString("--no-allow-natives-syntax");

run();
