import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createMemoryJournal, exportLines, importLines, type JournalRecord } from "../../src/journal/index.ts";
import { goOn, openRuntime, SCENARIOS } from "./scenarios.ts";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const linesOf = (name: string) => read(`${name}.jsonl`).trimEnd().split("\n");
const recordsOf = (name: string) => linesOf(name).map((line) => JSON.parse(line) as JournalRecord);

async function imported(name: string) {
  const journal = createMemoryJournal();
  const executions = await Array.fromAsync(
    importLines(
      journal,
      (async function* () {
        yield* linesOf(name);
      })(),
    ),
  );
  return { journal, executions };
}

test("each scenario has its journal, and each journal its scenario", () => {
  const names = readdirSync(new URL(".", import.meta.url)).flatMap((name) => /^(.*)\.jsonl$/.exec(name)?.[1] ?? []);
  expect(names.toSorted()).toEqual(Object.keys(SCENARIOS).toSorted());
});

test("together they hold each kind of record", () => {
  const table = read("../../src/journal/README.md");
  const known = [...table.matchAll(/^\| ([a-z]+(?: \([a-z]+\))?) +\| type,/gm)].flatMap(([, name]) => name ?? []);
  const kept = Object.keys(SCENARIOS).flatMap(recordsOf);
  const kinds = kept.map((record) => (record.type === "header" ? `header (${record.kind})` : record.type));
  expect([...new Set(kinds)].toSorted()).toEqual(known.toSorted());
});

test("each is read as it was written, and goes on to its end", async () => {
  const told: string[] = [];
  for (const name of Object.keys(SCENARIOS)) {
    const { journal, executions } = await imported(name);
    expect(await Array.fromAsync(exportLines(journal, executions))).toEqual(linesOf(name));
    await using runtime = await openRuntime(journal);
    const listed = (await Array.fromAsync(runtime.executions.list())).toReversed();
    for (const { execution, kind, state, waitsFor, parent } of listed) {
      const waits = waitsFor.length > 0 ? `${state} for ${waitsFor.join(", ")}` : state;
      // A program of a conversation goes on with it, and no call goes on.
      const goesOn = parent === undefined && kind !== "call";
      told.push(`${name}: ${kind}, ${waits}: ${goesOn ? JSON.stringify(await goOn(runtime, execution)) : "-"}`);
    }
  }
  await expect(`${told.join("\n")}\n`).toMatchFileSnapshot("endings.snap.txt");
});
