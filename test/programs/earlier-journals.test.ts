import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JournalRecord } from "../../src/journal/record.ts";
import { replay } from "../../src/programs/replay.ts";
import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";

const folder = join(import.meta.dirname, "journals-0.1");

test.for(readdirSync(folder))("the journal %s of version 0.1 replays from each of its turns", async (name) => {
  const lines = readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
  const records = lines.map((line) => JSON.parse(line) as JournalRecord);
  const turns = records.filter(({ type }) => type === "turn").length;
  await using sandbox = createIsolateSandbox({ warm: 1 });
  for (let from = 0; from <= turns; from += 1)
    expect(await replay(records, sandbox, AbortSignal.timeout(60_000), from)).toEqual({ type: "identical" });
});
