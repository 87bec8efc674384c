// @ts-check
/*
 * The engine: the child process in which one program at a time runs in one fresh V8 isolate. It is plain
 * JavaScript, run as it lies here: stripping types at start costs every engine 30 ms and 16 MB.
 *
 * It lives only for the guest, so it may run the guest on its own thread. Nobody asks it to stop; the host ends
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
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";

const PIPE = 3;
const LIFELINE = 4;
const PREFIX_BYTES = 4;
const SEPARATOR = "\u001e";
const BRACE = 123;
/** Longest time that frames wait for more frames to leave with, in milliseconds. */
const FLUSH_MS = 2;
/** How long the engine looks for the next frame before it sleeps, in milliseconds: waking up costs more than a short wait. */
const SPIN_MS = 0.1;
/** Waits in a row that a fruitless look is followed by without one, at most. */
const MOST_SKIPPED_SPINS = 64;

const [guestPath = "", addonPath = "", parentDeath = ""] = process.argv.slice(2);
/** @type {typeof import("isolated-vm")} */
const ivm = createRequire(import.meta.url)(addonPath).ivm;
const guestSource = readFileSync(guestPath, "utf8");

// ---- the guest -------------------------------------------------------------------------------------------------

// Compiling the guest whole once, and every later isolate's from that code, takes 0.7 ms off each program's start.
setFlagsFromString("--no-lazy");
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

function drain() {
  if (!guest) return;
  /** @type {unknown} */
  const drained = guest.drain.applySync(undefined, []);
  if (typeof drained !== "string") end("broken the guest drained something that is not text");
  if (drained === "") return;
  for (const frame of drained.split(SEPARATOR)) {
    if (frame.charCodeAt(0) !== BRACE) end("broken a frame is not an object");
    queue(frame);
  }
}

// ---- the pipe --------------------------------------------------------------------------------------------------

const pipe = new Socket({ fd: PIPE });
/** @type {Buffer[]} */
let chunks = [];
let buffered = 0;
/** @type {string[]} */
let outgoing = [];
let flushedAt = 0;

/** @param {Buffer} chunk */
function receive(chunk) {
  spinning = false;
  chunks.push(chunk);
  buffered += chunk.length;
  for (let message = nextMessage(); message !== undefined; message = nextMessage()) {
    handle(message);
    // Events that have arrived together are turns of their own, but their frames leave together.
    if (performance.now() - flushedAt > FLUSH_MS) handOver();
  }
  handOver();
  spin();
}

/** @returns {string | undefined} */
function nextMessage() {
  if (buffered < PREFIX_BYTES) return undefined;
  if (chunks.length > 1 && (chunks[0]?.length ?? 0) < PREFIX_BYTES) chunks = [Buffer.concat(chunks)];
  const end = PREFIX_BYTES + (chunks[0]?.readUInt32BE(0) ?? 0);
  if (buffered < end) return undefined;
  if (chunks.length > 1) chunks = [Buffer.concat(chunks)];
  const all = /** @type {Buffer} */ (chunks[0]);
  chunks = all.length > end ? [all.subarray(end)] : [];
  buffered -= end;
  return all.toString("utf8", PREFIX_BYTES, end);
}

/** @param {string} message */
function handle(message) {
  if (message.charCodeAt(0) === BRACE) deliver(message);
  else prepare(Number(message.slice("prepare ".length)));
}

function handOver() {
  try {
    drain();
  } catch (error) {
    end(
      guest?.isolate.isDisposed
        ? "memory"
        : `broken ${error instanceof Error ? error.message : String(error)}`.slice(0, 500),
    );
  }
  flush();
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
  pipe.write(bytes);
}

let spinning = false;
let skipSpins = 0;
let skipNext = 1;

/** Keeps awake for a moment after frames have left, as long as that has lately been worth it. */
function spin() {
  if (skipSpins > 0) {
    skipSpins -= 1;
    return;
  }
  spinning = true;
  const until = performance.now() + SPIN_MS;
  const look = () => {
    if (!spinning) {
      skipNext = 1;
    } else if (performance.now() < until) {
      setImmediate(look);
    } else {
      spinning = false;
      skipSpins = skipNext;
      skipNext = Math.min(skipNext * 2, MOST_SKIPPED_SPINS);
    }
  };
  setImmediate(look);
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

pipe.on("data", receive);
pipe.on("end", endNow);
pipe.on("error", endNow);
