import { beforeAll, expect, test } from "vitest";
import type { Header, JournalRecord, TurnRecord } from "../../src/journal/record.ts";
import { replay } from "../../src/executions/replay.ts";
import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { echo, runtimeWith } from "../support/index.ts";

const sandbox = createMemorySandbox();
const never = new AbortController().signal;
let records: readonly JournalRecord[];

beforeAll(async () => {
  await using runtime = await runtimeWith([echo]);
  const { execution } = await runtime.execute("await tools.echo({}); return (await tools.echo({ a: 1 })).a;");
  records = await Array.fromAsync(runtime.journal.read(execution));
});

const replayed = (changed: readonly unknown[]) => replay(() => changed as JournalRecord[], sandbox, never);
const withHeader = (changes: object) =>
  records.map((record) => (record.type === "header" ? { ...record, ...changes } : record));
const lastTurn = () => records.findLast((record): record is TurnRecord => record.type === "turn") as TurnRecord;

test("a changed turn is reported with its number", async () => {
  expect(await replayed(records)).toEqual({ type: "identical" });
  const changed = records.map((record) =>
    record === lastTurn() ? { ...record, commands: ['{"kind":"settled","ok":true,"notes":[]}\n2'] } : record,
  );
  expect(await replayed(changed)).toMatchObject({ type: "diverged", divergence: { turn: 2 } });
});

test("a replay does not wait for turns after the program's end", async () => {
  const more: TurnRecord = { type: "turn", event: '{"kind":"fire","now":1,"id":9}', commands: [] };
  expect(await replayed([...records, more])).toEqual({
    type: "diverged",
    divergence: { turn: 3, recorded: more.event, replayed: "nothing" },
  });
});

test.each<[string, () => unknown]>([
  ["an empty list", () => []],
  ["a list of nothing", () => [null, undefined, 1]],
  ["no header", () => records.slice(1)],
  ["a header without its tenant", () => withHeader({ tenant: undefined })],
  ["a header with limits that are none", () => withHeader({ limits: { memoryBytes: -1 } })],
  ["a header with limits that are text", () => withHeader({ limits: "many" })],
  ["a turn without its commands", () => [...records, { type: "turn", event: "{}" }]],
  ["a turn whose commands are none", () => [...records, { type: "turn", event: "{}", commands: [1] }]],
  ["an event that is no JSON", () => [records[0], { type: "turn", event: "garbage", commands: [] }]],
  ["an event that is nothing", () => [records[0], { type: "turn", event: "null", commands: [] }]],
])("records with %s are refused", async (_, make) => {
  await expect(replayed(make() as unknown[])).rejects.toMatchObject({
    code: expect.stringMatching(/^(journal|option)_invalid$/),
  });
});

test("a replay ends after cpuMs, or by its signal", async () => {
  await using isolates = createIsolateSandbox({ warm: 1 });
  const header = records[0] as Header;
  const start = lastTurn();
  const first = records.find((record): record is TurnRecord => record.type === "turn");
  const [head = "", body = "{}"] = first?.event.split("\n") ?? [];
  const looping = `${head}\n${JSON.stringify({ ...(JSON.parse(body) as object), program: "for (;;);" })}`;
  const tampered = (cpuMs: number): JournalRecord[] => [
    { ...header, limits: { ...header.limits, cpuMs } },
    { ...start, event: looping },
  ];
  expect(await replay(() => tampered(50), isolates, never)).toMatchObject({
    type: "ended",
    end: { type: "killed", reason: "the replay took too long" },
  });
  const cancel = new AbortController();
  const replaying = replay(() => tampered(60_000), isolates, cancel.signal);
  await isolates.warm?.();
  cancel.abort(new Error("enough"));
  await expect(replaying).rejects.toThrow("enough");
});
