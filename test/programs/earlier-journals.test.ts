import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JournalRecord } from "../../src/journal/record.ts";
import { replay } from "../../src/programs/replay.ts";
import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";

/*
 * Journals that version 0.1.0 wrote on node 24 (V8 13.6) for x64. The depth of a stack, which a program can measure, is another
 * one in another V8 or on another processor.
 */
const folder = join(import.meta.dirname, "journals-0.1");
const sameStacks = process.versions.v8.startsWith("13.6.") && process.arch === "x64";

test.for(readdirSync(folder))(
  "the journal %s of version 0.1 replays from each of its turns",
  async (name, { skip }) => {
    skip(name.startsWith("stack") && !sameStacks, "stacks differ in this V8 or on this processor");
    const lines = readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
    const records = lines.map((line) => JSON.parse(line) as JournalRecord);
    const turns = records.filter(({ type }) => type === "turn").length;
    await using sandbox = createIsolateSandbox({ warm: 1 });
    for (let from = 0; from <= turns; from += 1)
      expect(await replay(records, sandbox, AbortSignal.timeout(60_000), from)).toEqual({ type: "identical" });
  },
);
