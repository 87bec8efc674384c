/*
 * Runs one program against tools that give it much to hold, in a host with a small heap, and prints by how many bytes
 * the host's heap had grown at most, and the heap with the buffers beside it. A second argument is the file of a journal. With a third one, `replay`, the program is replayed
 * too, and `residentBytes` is by how much the host's process has grown meanwhile. Started with --expose-gc and
 * --max-old-space-size.
 */
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createRuntime, createSqliteJournal, PortcullisError } from "../../src/index.ts";
import { makeTool } from "../support/tools.ts";

const collectGarbage = globalThis.gc as () => void;
const heldNow = () => {
  collectGarbage();
  // The buffers that a collection frees are counted until its sweeping has ended: the next one waits for that.
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return { heap: heapUsed, all: heapUsed + external };
};

let before = heldNow();
const most = { heap: 0, all: 0 };
const look = () => {
  const { heap, all } = heldNow();
  most.heap = Math.max(most.heap, heap - before.heap);
  most.all = Math.max(most.all, all - before.all);
};
let sampled = 0;
/** Called where much is held. Looks at every 16th time only, for looking takes long. */
const sample = () => {
  sampled += 1;
  if (sampled % 16 === 0) look();
};

const nothing = z.object({});
const long = z.object({ value: z.string() });
const tools = [
  makeTool({
    name: "slow",
    inputSchema: z.object({ rows: z.array(z.array(z.number())) }),
    execute: async ({ rows }) => {
      await delay(100);
      sample();
      return rows.length;
    },
  }),
  makeTool({
    name: "fail",
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }) => {
      sample();
      throw new PortcullisError("tool_failed", `${n} ${"x".repeat(1_000_000)}`);
    },
  }),
  makeTool({ name: "strict", inputSchema: z.strictObject({ n: z.number().optional() }), execute: () => null }),
  makeTool({ name: "tick", inputSchema: nothing, execute: () => (sample(), null) }),
  makeTool({ name: "look", inputSchema: nothing, execute: () => delay(1500).then(() => (look(), null)) }),
  makeTool({ name: "large", inputSchema: nothing, execute: () => delay(50).then(() => "x".repeat(20_000_000)) }),
  makeTool({
    name: "text",
    inputSchema: z.object({ wide: z.boolean() }),
    execute: ({ wide }) => (sample(), "x".repeat(1_000_000) + (wide ? "→" : "")),
  }),
  makeTool({ name: "take", inputSchema: long, execute: ({ value }) => (sample(), value.length) }),
  /** Keeps a long text until the call is ended. */
  makeTool({
    name: "stay",
    inputSchema: long,
    timeoutMs: 3000,
    execute: () => {
      setTimeout(sample, 1000);
      return new Promise(() => {});
    },
  }),
  makeTool({
    name: "late",
    inputSchema: nothing,
    execute: async () => {
      await delay(100);
      // Once all of them have answered.
      setTimeout(sample, 1000);
      return "x".repeat(1_000_000);
    },
  }),
];

const [, , program = "", file, then] = process.argv;
const journal = file === undefined ? undefined : createSqliteJournal({ path: file });
const runtime = await createRuntime({ tools, ...(journal ? { journal } : {}) });
await runtime.execute("await tools.tick({}); return 1");
before = heldNow();
const { outcome, execution } = await runtime.execute(program);
look();
const told = { grownBytes: most.heap, allBytes: most.all, outcome };
if (then === "replay") {
  collectGarbage();
  const residentBefore = process.memoryUsage.rss();
  let residentBytes = 0;
  const watch = setInterval(() => {
    residentBytes = Math.max(residentBytes, process.memoryUsage.rss() - residentBefore);
  }, 20);
  const replayed = await runtime.execution(execution).replay();
  clearInterval(watch);
  process.stdout.write(JSON.stringify({ ...told, residentBytes, replayed: replayed.type }));
} else process.stdout.write(`${JSON.stringify(told)}\n`);
await runtime[Symbol.asyncDispose]();
