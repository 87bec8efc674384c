/*
 * Isolates with a guest each, as an engine makes them: in this thread, or each in a thread of its own. Takes frames as
 * `{ index, text }`, and answers with what the guest of that index has sent, or why it ended. Arguments: how many, `main` or `threads`.
 */
const { readFileSync } = require("node:fs");
const { setFlagsFromString } = require("node:v8");
const { isMainThread, parentPort, Worker } = require("node:worker_threads");
const ivm = require("isolated-vm");

const GUEST = `${__dirname}/../../bridge/guest`;
const MEMORY_MB = 128;

function makeGuest() {
  const isolate = new ivm.Isolate({ memoryLimit: MEMORY_MB });
  const context = isolate.createContextSync();
  const source = readFileSync(`${GUEST}/guest.js`, "utf8");
  const face = isolate.compileScriptSync(source).runSync(context, { reference: true });
  const globals = readFileSync(`${GUEST}/globals.js`, "utf8");
  face.getSync("provide", { reference: true }).applySync(undefined, [globals]);
  const [deliver, drain] = ["deliver", "drain"].map((name) => face.getSync(name, { reference: true }));
  drain.applySync(undefined, []);
  return { isolate, deliver, drain };
}

function turn({ isolate, deliver, drain }, text) {
  try {
    deliver.applySync(undefined, [text]);
  } catch {
    // What the program has not handled.
  }
  try {
    return drain.applySync(undefined, []);
  } catch {
    return isolate.isDisposed ? "memory" : "broken";
  }
}

if (!isMainThread) {
  globalThis.kept = makeGuest();
  parentPort.on("message", () => {});
  parentPort.postMessage("ready", []);
} else {
  const [count, where] = [Number(process.argv[2]), process.argv[3]];
  setFlagsFromString("--no-lazy");
  if (where === "threads") {
    let missing = count;
    for (let index = 0; index < count; index += 1)
      new Worker(__filename).on("message", () => (missing -= 1) || process.send("ready"));
  } else {
    const guests = Array.from({ length: count }, makeGuest);
    process.on("message", ({ index, text }) => process.send({ index, text: turn(guests[index], text) }));
    process.send("ready");
  }
}
