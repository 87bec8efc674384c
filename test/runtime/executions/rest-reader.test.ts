import { expect, test } from "vitest";
import { RestReader } from "../../../src/runtime/executions/rest-reader.ts";
import { createMemoryJournal, type Journal } from "../../../src/journal/index.ts";
import type { ReadOptions } from "../../../src/journal/journal.ts";
import { createRuntime } from "../../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../../src/runtime/testing.ts";
import type { Scope } from "../../../src/executions/scope.ts";
import { header, turn } from "../../journal/records.ts";
import { makeTool } from "../../support/tools.ts";

const fire = (now: number) => turn(`{"kind":"fire","now":${now},"id":1}`);

function reading() {
  const store = createMemoryJournal();
  const from: number[] = [];
  const journal: Journal = {
    ...store,
    read: (execution, options: ReadOptions = {}) => {
      from.push(options.from ?? 0);
      return store.read(execution, options);
    },
  };
  return { store, from, reader: new RestReader({ journal, tenant: "t" } as unknown as Scope, "e") };
}

/** A reader of an execution, and the executions that it has read. */
function readingOf(execution: string) {
  const store = createMemoryJournal();
  const read: string[] = [];
  const journal: Journal = {
    ...store,
    read: (one, options) => {
      read.push(one);
      return store.read(one, options);
    },
  };
  return { store, read, reader: new RestReader({ journal, tenant: "t" } as unknown as Scope, execution) };
}

test("each reading of a program goes on where the last one ended", async () => {
  const { store, from, reader } = reading();
  await store.create(header("e", { tenant: "t" }));
  await store.append("e", 1, [fire(1)]);
  expect(await reader.read()).toBeUndefined();
  await store.append("e", 2, [fire(2), fire(3)]);
  expect(await reader.read()).toBeUndefined();
  expect(await reader.read()).toBeUndefined();
  expect(from).toEqual([0, 2, 4]);
  expect(reader.records).toBe(4);
});

test("a program that was only submitted is not read until something is appended, and then whole", async () => {
  const { store, from, reader } = reading();
  await store.create(header("e", { tenant: "t" }));
  expect(await reader.read()).toBeUndefined();
  expect(reader.records).toBe(1);
  expect(from).toEqual([]);
  await store.append("e", 1, [fire(1)]);
  expect(await reader.read()).toBeUndefined();
  expect(from).toEqual([0]);
  expect(reader.records).toBe(2);
});

test("another execution under the id of one that was deleted is read from its beginning", async () => {
  const store = createMemoryJournal();
  const shared = { current: store };
  const journal = new Proxy(store, { get: (_, name) => Reflect.get(shared.current, name) as unknown });
  const reader = new RestReader({ journal, tenant: "t" } as unknown as Scope, "e");
  await store.create(header("e", { tenant: "t" }));
  await store.append("e", 1, [fire(1)]);
  expect(await reader.read()).toBeUndefined();
  shared.current = createMemoryJournal();
  await shared.current.create(header("e", { tenant: "t", startedAt: 99 }));
  expect(await reader.read()).toBeUndefined();
  expect(reader.records).toBe(0);
});

test("tells of an execution of this tenant alone, and what `status` tells", async () => {
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({ tools: [], journal, sandbox: createMemorySandbox() });
  const { execution } = await runtime.execute("return [1, 2];");
  const other = new RestReader({ journal, tenant: "another" } as unknown as Scope, execution);
  await expect(other.read()).rejects.toMatchObject({ code: "execution_unknown" });
  expect(await runtime.execution(execution).wait()).toEqual(await runtime.execution(execution).status());
});

test("a conversation that goes on is read with its open programs alone, and with all of them once it has ended", async () => {
  const { store, read, reader } = readingOf("talk");
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const pause = makeTool({
    name: "pause",
    execute: async () => {
      reached.resolve();
      await held.promise;
      return 1;
    },
  });
  const sandbox = createMemorySandbox();
  await using runtime = await createRuntime({ tools: [pause], journal: store, sandbox, tenant: "t" });
  const model = scriptedModel([
    { programs: ["return 1;"] },
    { programs: ["return tools.pause({});"] },
    { text: "done" },
  ]);
  const ended = runtime.agent({ model, task: "Work.", id: "talk" });
  await reached.promise;
  expect(await reader.read()).toBeUndefined();
  const programs = (await Array.fromAsync(store.list())).filter(({ kind }) => kind === "program");
  const [open, before] = programs.map(({ execution }) => execution);
  expect(read).toContain(open);
  expect(read).not.toContain(before);
  held.resolve();
  await ended;
  expect((await reader.read())?.conversation?.ending).toMatchObject({ type: "answered", answer: "done" });
  expect(read).toContain(before);
  expect(await runtime.execution("talk").wait()).toEqual(await runtime.execution("talk").status());
});
