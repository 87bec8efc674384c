/*
 * Moves results of 1 MB through one program with a journal in a file, replays it, and prints what that took. Arguments: the
 * journal's path and the number of results. Started with --expose-gc.
 */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createRuntime, createSqliteJournal } from "../../src/index.ts";
import { makeTool } from "../support/tools.ts";

const [, , path = "", count = ""] = process.argv;
const RESULT_LENGTH = 1_000_000;

/** A text that does not compress to less than half of its length, always the same for one number. */
function textOf(number: number): string {
  const outputLength = (RESULT_LENGTH / 4) * 3;
  return createHash("shake256", { outputLength }).update(String(number)).digest("base64");
}

let results = 0;
const page = makeTool({
  name: "page",
  inputSchema: z.object({ number: z.number() }),
  execute: ({ number }) => {
    results += 1;
    return textOf(number);
  },
});

const collectGarbage = globalThis.gc as () => void;
const residentBytes = () => process.memoryUsage.rss();

using journal = createSqliteJournal({ path });
await using runtime = await createRuntime({ tools: [page], journal });
await runtime.execute("return (await tools.page({ number: -1 })).length;");
collectGarbage();
const before = residentBytes();
let most = before;
const watch = setInterval(() => (most = Math.max(most, residentBytes())), 20);

const limits = { cpuMs: 300_000, wallMs: 1_800_000 };
const { outcome, usage, execution } = await runtime.execute(
  `let length = 0;
   for (let number = 0; number < ${count}; number += 1) length += (await tools.page({ number })).length;
   return length;`,
  { limits },
);
const afterRun = most;
const replayed = await runtime.execution(execution).replay();
clearInterval(watch);
await delay(0);
process.stdout.write(
  JSON.stringify({
    outcome,
    replayed: replayed.type === "identical" ? "identical" : JSON.stringify(replayed),
    results,
    guestBytes: usage.peakMemoryBytes,
    grownBytes: afterRun - before,
    grownInReplayBytes: most - before,
    fileBytes: statSync(path).size,
  }),
);
