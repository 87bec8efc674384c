/*
 * Runs a program that joins two streams by key, in a host with a small heap, and prints by how many bytes the host had
 * grown at most, and what came of it. The arguments are the bytes of each stream and, if there is to be one, the file of
 * a journal. Started with --expose-gc and --max-old-space-size.
 */
import { statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createRuntime, createSqliteJournal } from "../../src/index.ts";
import { makeTool } from "../support/tools.ts";

const MIB = 1024 * 1024;
const ROW_BYTES = 500;
/** How often it looks what is held, in rows: looking takes long. */
const SAMPLES = 40;

const collectGarbage = globalThis.gc as () => void;
const heldNow = () => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

const [, , bytes = "", file] = process.argv;
const rows = Math.ceil(Number(bytes) / ROW_BYTES);
const sampleEvery = Math.ceil((2 * rows) / SAMPLES);

let heldBefore = 0;
let heldBytes = 0;
let given = 0;
const sample = () => {
  given += 1;
  if (given % sampleEvery === 0) heldBytes = Math.max(heldBytes, heldNow() - heldBefore);
};

/** A text that no other row has, of as many bytes as make the row `ROW_BYTES`. */
function textOf(key: number): string {
  const word = Math.imul(key + 1, 2_654_435_761).toString(36);
  return word.repeat(ROW_BYTES / word.length).slice(0, ROW_BYTES - 20 - String(key).length);
}

const tools = [
  // Gives rows in the order of their keys, which are multiples of a number.
  makeTool({
    name: "rows",
    inputSchema: z.object({ of: z.number() }),
    outputSchema: z.object({ key: z.number(), text: z.string() }),
    stream: true,
    async *execute({ of }) {
      for (let row = 0; row < rows; row += 1) {
        sample();
        yield { key: row * of, text: textOf(row * of) };
      }
    },
  }),
  // Tells a while later how many rows were given.
  makeTool({
    name: "given",
    inputSchema: z.object({}),
    execute: () => delay(300).then(() => given),
  }),
];

const JOIN = `
  const left = tools.rows({ of: 2 })[Symbol.asyncIterator]();
  const right = tools.rows({ of: 3 })[Symbol.asyncIterator]();
  let one = await left.next();
  let other = await right.next();
  let matches = 0;
  let sum = 0;
  while (!one.done && !other.done) {
    if (one.value.key === other.value.key) {
      if (one.value.text !== other.value.text) throw new Error("Equal keys, and other rows.");
      matches += 1;
      sum += one.value.key;
    }
    if (one.value.key <= other.value.key) one = await left.next();
    else other = await right.next();
  }
  return { matches, sum };`;

/** Reads one row after the other, and asks meanwhile how many were given. */
const READ_SLOWLY = `
  const ahead = [];
  let read = 0;
  for await (const row of tools.rows({ of: 1 })) {
    read += 1;
    if (read % 400 !== 1) continue;
    ahead.push((await tools.given({})) - read);
    if (ahead.length === 5) break;
  }
  return Math.max(...ahead);`;

const limits = { memoryBytes: 128 * MIB, cpuMs: 3_600_000, wallMs: 3_600_000 };
const journal = file === undefined ? undefined : createSqliteJournal({ path: file });
const runtime = await createRuntime({ tools, limits, ...(journal && { journal }) });

const slow = await runtime.execute(READ_SLOWLY);
given = 0;
heldBefore = heldNow();
const residentBefore = process.memoryUsage.rss();
let residentBytes = 0;
const watch = setInterval(() => {
  residentBytes = Math.max(residentBytes, process.memoryUsage.rss() - residentBefore);
}, 20);
const startedAt = performance.now();
const { outcome, usage, calls } = await runtime.execute(JOIN);
const ms = Math.round(performance.now() - startedAt);
clearInterval(watch);
heldBytes = Math.max(heldBytes, heldNow() - heldBefore);
await runtime[Symbol.asyncDispose]();
// Before, a part of the journal is in the file of its log.
journal?.[Symbol.dispose]();
process.stdout.write(
  `${JSON.stringify({
    ahead: slow.outcome,
    outcome,
    items: calls.map(({ items }) => items),
    streamedBytes: calls.reduce((sum, call) => sum + call.bytes, 0),
    heldBytes,
    residentBytes,
    engineBytes: usage.peakMemoryBytes,
    fileBytes: file === undefined ? 0 : statSync(file).size,
    ms,
  })}\n`,
);
