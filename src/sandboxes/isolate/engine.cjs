// @ts-check
/*
 * The engine: the child process in which one program at a time runs in one fresh V8 isolate. It is plain
 * JavaScript, run as it lies here: stripping types at start costs every engine 30 ms and 16 MB. It is no ES module, which
 * costs another 10 ms.
 *
 * It does nothing else, so it runs the guest on its main thread. It is never asked to stop; the host ends it with
 * SIGKILL. Messages that begin with "{" are frames for or from the guest; all others are commands and reports:
 *
 *   host:   prepare BYTES   replace the isolate with one for the next program, with this heap limit
 *   engine: prepared        the isolate is ready, its guest's first frames follow
 *   engine: memory          the isolate went over its heap limit; the engine ends
 *   engine: broken DETAIL   the guest broke; the engine ends
 *
 * A guest's frame that does not begin with "{" could be taken for a report of the engine, so it ends the engine.
 *
 * Arguments: path of the guest script, path of the text that it is provided with, path of isolated-vm's binary, "watch" or
 * "kernel" (what ends this process after its host has ended).
 */
const { readFileSync, readSync, writeSync } = require("node:fs");
const { setFlagsFromString } = require("node:v8");
const { runInNewContext } = require("node:vm");

const PIPE = 3;
const LIFELINE = 4;
const PREFIX_BYTES = 4;
const SEPARATOR = "\u001e";
const BRACE = 123;
/** How long frames may wait to be sent together with later frames, in milliseconds. */
const FLUSH_MS = 2;
/**
 * Length of texts to and from a guest after which its garbage is collected, in UTF-16 code units. isolated-vm keeps
 * long texts outside of the heap: the process would reach its memory limit before V8 sees a reason to collect them.
 */
const COLLECT_LENGTH = 16 * 1024 * 1024;
/** Bytes of large frames after which the engine's own garbage is collected: the texts that the guest has a copy of. */
const COLLECT_OWN_BYTES = 8 * 1024 * 1024;
/** Size of the read buffer, in bytes, unless a frame is larger. A batch of a stream of many items fits. */
const ROOM_BYTES = 128 * 1024;
/** Size of the write buffer, in bytes. */
const PARCEL_BYTES = 128 * 1024;
/** Text that is encoded at once, in UTF-16 code units; each takes three bytes at most. */
const PART_LENGTH = 16 * 1024;
/** How the last frame of a program begins. */
const SETTLED = '{"kind":"settled"';

const [guestPath = "", globalsPath = "", addonPath = "", parentDeath = ""] = process.argv.slice(2);
/** @type {typeof import("isolated-vm")} */
const ivm = require(addonPath).ivm;
const guestSource = readFileSync(guestPath, "utf8");
// Isolates share this text: isolated-vm copies strings of this length once, outside of any heap.
const globals = new ivm.ExternalCopy(readFileSync(globalsPath, "utf8"));

// ---- the guest -------------------------------------------------------------------------------------------------

// The guest is compiled eagerly once, and later isolates reuse that code. This saves 0.7 ms at each program's start.
setFlagsFromString("--no-lazy");
/** @type {import("isolated-vm").ExternalCopy<ArrayBuffer> | undefined} */
let compiledGuest;

/** @typedef {import("isolated-vm").Reference} Reference */
/** @type {{ isolate: import("isolated-vm").Isolate, deliver: Reference, drain: Reference, reject: Reference, collect: Reference | undefined } | undefined} */
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
  face.getSync("provide", { reference: true }).applySync(undefined, [globals.copyInto()]);
  guest = {
    isolate,
    deliver: face.getSync("deliver", { reference: true }),
    drain: face.getSync("drain", { reference: true }),
    reject: face.getSync("reject", { reference: true }),
    collect: undefined,
  };
  queue("prepared");
  take(drain());
}

/** @param {string} text */
function deliver(text) {
  try {
    guest?.deliver.applySync(undefined, [large?.copyInto({ release: true }) ?? text]);
  } catch (error) {
    tellRejection(error);
  }
}

/**
 * Tells the guest of a promise that its program rejected in this turn and has not handled, which does not end the program:
 * isolated-vm throws the first of a turn. If the isolate has ended, `drain` throws too and reports it.
 * @param {unknown} error
 */
function tellRejection(error) {
  try {
    guest?.reject.applySync(undefined, [String(error instanceof Error ? error.stack : error)]);
  } catch {
    // What was rejected has no words, or the isolate has ended.
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

/** Collects the guest's garbage, and the texts of its frames, which the engine has read and passed on. */
function collect() {
  collectOwn();
  try {
    if (guest) (guest.collect ??= collectorOf(guest.isolate)).applySync(undefined, []);
  } catch {
    // The isolate has ended, which the next `drain` reports.
  }
}

/**
 * The isolate's function `gc`, in a realm of its own: it cannot be taken out of the program's.
 * @param {import("isolated-vm").Isolate} isolate
 * @returns {Reference}
 */
function collectorOf(isolate) {
  setFlagsFromString("--expose-gc");
  const context = isolate.createContextSync();
  setFlagsFromString("--no-expose-gc");
  return context.evalSync("gc", { reference: true });
}

/** @type {(() => void) | undefined} */
let ownCollector;

/** Collects the engine's own garbage. */
function collectOwn() {
  uncollected = 0;
  setFlagsFromString("--expose-gc");
  ownCollector ??= /** @type {() => void} */ (runInNewContext("gc"));
  setFlagsFromString("--no-expose-gc");
  ownCollector();
}

/** @param {unknown} drained */
function take(drained) {
  if (typeof drained !== "string") return end("broken the guest's drain returned something that is not text");
  if (drained === "") return;
  for (const frame of drained.split(SEPARATOR)) {
    if (frame.charCodeAt(0) !== BRACE) end("broken a frame is not an object");
    queue(frame);
  }
}

/** Whether the program has ended: its isolate will be replaced, and its garbage goes with it. @param {string} drained */
function hasSettled(drained) {
  return drained.startsWith(SETTLED, drained.lastIndexOf(SEPARATOR) + 1);
}

function run() {
  for (let command = nextMessage(); ;) command = serve(Number(command.slice("prepare ".length)));
}

/**
 * Serves one program, and returns the host's next command. The engine has nothing else to do, so reads and writes are
 * blocking. Each event is delivered and drained by itself, so that a turn does not depend on when the next event arrives.
 * @param {number} memoryBytes
 */
function serve(memoryBytes) {
  prepare(memoryBytes);
  for (let length = 0; ;) {
    const message = nextMessage();
    if (message.charCodeAt(0) !== BRACE) return message;
    deliver(message);
    const drained = drain();
    take(drained);
    length += received + String(drained).length;
    if (length < COLLECT_LENGTH || hasSettled(String(drained))) continue;
    length = 0;
    // The host goes on with the turn meanwhile.
    flush();
    collect();
  }
}

// ---- the pipe --------------------------------------------------------------------------------------------------

/** Read buffer. The bytes from `start` to `filled` are read and not yet consumed. */
let room = Buffer.allocUnsafeSlow(ROOM_BYTES);
let start = 0;
let filled = 0;
/** Bytes of the last message. */
let received = 0;
/** @type {import("isolated-vm").ExternalCopy<string> | undefined} The text of the last message if it is large. */
let large;
/** Bytes of large messages since the engine's own garbage was collected. */
let uncollected = 0;
/** @type {string[]} */
let outgoing = [];
/** Write buffer, of which the first `packed` bytes are to be written. */
const parcel = Buffer.allocUnsafeSlow(PARCEL_BYTES);
let packed = 0;
let flushedAt = 0;

/** The next message. Of a large one, which is a frame, only the first character; its text is in `large`. @returns {string} */
function nextMessage() {
  // Events that arrive together are separate turns, but the frames of those turns are sent together.
  if (performance.now() - flushedAt > FLUSH_MS) flush();
  need(PREFIX_BYTES);
  received = room.readUInt32BE(start);
  need(PREFIX_BYTES + received);
  large = undefined;
  if (PREFIX_BYTES + received > ROOM_BYTES) return takeLarge();
  const text = room.toString("utf8", start + PREFIX_BYTES, start + PREFIX_BYTES + received);
  start += PREFIX_BYTES + received;
  if (start === filled) start = filled = 0;
  return text;
}

/** Takes a message that fills the read buffer. The guest's copy is the only one that stays. @returns {string} */
function takeLarge() {
  large = new ivm.ExternalCopy(emptyRoom());
  uncollected += received;
  if (uncollected > COLLECT_OWN_BYTES) collectOwn();
  return "{";
}

/** @returns {string} */
function emptyRoom() {
  const text = room.toString("utf8", PREFIX_BYTES);
  // Frees the bytes at once, and not with the next garbage.
  room.buffer.transfer(0);
  room = Buffer.allocUnsafeSlow(ROOM_BYTES);
  start = filled = 0;
  return text;
}

/** Reads until at least `bytes` bytes are buffered. A frame that is larger than the read buffer gets one of its own size. @param {number} bytes */
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

/** Writes what is queued: in one write, unless it is larger than the write buffer. */
function flush() {
  flushedAt = performance.now();
  if (outgoing.length === 0) return;
  const texts = outgoing;
  outgoing = [];
  for (const text of texts) pack(text);
  writeParcel();
}

/** @param {string} text */
function pack(text) {
  const bytes = Buffer.byteLength(text);
  if (PARCEL_BYTES - packed < PREFIX_BYTES) writeParcel();
  packed = parcel.writeUInt32BE(bytes, packed);
  // Text of one-byte characters only can be copied as it is.
  const encoding = bytes === text.length ? "latin1" : "utf8";
  for (let from = 0; from < text.length;) {
    let to = Math.min(from + PART_LENGTH, text.length);
    // A surrogate pair is one character and must be encoded as one.
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc_00) === 0xd8_00) to -= 1;
    if (PARCEL_BYTES - packed < 3 * (to - from)) writeParcel();
    packed += parcel.write(text.slice(from, to), packed, encoding);
    from = to;
  }
}

function writeParcel() {
  try {
    for (let sent = 0; sent < packed;) sent += writeSync(PIPE, parcel, sent, packed - sent);
  } catch {
    endNow();
  }
  packed = 0;
}

// ---- the end ---------------------------------------------------------------------------------------------------

/** Reports why, and ends the process. @param {string} report @returns {never} */
function end(report) {
  queue(report);
  flush();
  return endNow();
}

/** Ends the process by SIGKILL: a normal exit waits for threads. Process 1 of a namespace ignores its own signals, and exits. @returns {never} */
function endNow() {
  if (process.pid !== 1) process.kill(process.pid, "SIGKILL");
  process.exit(1);
}

if (parentDeath === "watch") {
  // A busy main thread does not notice the end of its pipe, so a worker thread waits for the end of a second pipe.
  const { Worker } = require("node:worker_threads");
  const source = `try { require("node:fs").readSync(${LIFELINE}, Buffer.alloc(1)); } catch {} process.kill(process.pid, "SIGKILL");`;
  new Worker(source, {
    eval: true,
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
  }).unref();
}

run();
