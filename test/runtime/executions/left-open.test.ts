import { expect, onTestFinished, test } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../../src/journal/index.ts";
import type { Model } from "../../../src/models/model.ts";
import { servedModels } from "../../../src/serve/served-models.ts";
import { localDriving } from "../../../src/serve/driving/local-driving.ts";
import { ServerRuns } from "../../../src/serve/server-runs.ts";
import { createMemorySandbox, scriptedModel, type ScriptedStep } from "../../../src/runtime/testing.ts";
import { settableClock } from "../../support/clock.ts";
import { endless, journalWith, notedReads, payTool, runtimeWith } from "../../support/index.ts";

const { tool: pay } = payTool();

const TEXTS: ScriptedStep = ({ results }) => ({ text: results.map(({ text }) => text).join("|") });
const known = scriptedModel([{ programs: ["return (await tools.pay({ euros: 7 })).paid"] }, TEXTS], { name: "known" });
const direct = scriptedModel([{ calls: [{ id: "d", tool: "pay", input: { euros: 8 } }] }, TEXTS], { name: "direct" });
const ofName = (name: string): Model | undefined => [known, direct].find((model) => model.name === name);

async function runtimeOf(journal: Journal) {
  const parts = { tools: [pay], journal, sandbox: createMemorySandbox(), approve: () => "later" as const };
  const runtime = await createRuntime(parts);
  onTestFinished(() => runtime[Symbol.asyncDispose]());
  return runtime;
}

/** Leaves a conversation open whose model does not answer before its host is gone. */
async function leaveUnanswered(journal: Journal, execution: string) {
  const runtime = await runtimeWith([pay], { journal });
  const asked = endless();
  const model: Model = scriptedModel([asked.run], { name: "missing" });
  const running = runtime.agent({ model, task: "Do it.", id: execution });
  await asked.begun;
  await runtime.suspend();
  await expect(running).rejects.toMatchObject({ code: "runtime_suspended" });
}

/** Leaves a conversation as a host left it that died after its model had answered. */
async function leaveResting(journal: Journal, execution: string) {
  const store = createMemoryJournal();
  await using runtime = await runtimeWith([], { journal: store });
  await using talk = await runtime.conversation({ model: scriptedModel([{ text: "Yes?" }]), id: execution });
  await talk.send("Hello.");
  await journalWith(await Array.fromAsync(store.read(execution)), journal);
}

test("a sweep reads nothing of what has not changed, and takes a conversation up once its call was decided", async () => {
  const { journal, readNow } = notedReads();
  const clients = await runtimeOf(journal);
  const { ending } = await clients.agent({ model: known, task: "Pay.", id: "with-program" });
  if (ending.type !== "waiting") throw new Error("It waits for a decision.");
  await clients.agent({ model: direct, task: "Pay.", id: "with-call" });
  await leaveResting(journal, "rests");
  await clients.execute("return tools.pay({ euros: 1 })", { id: "program" });
  await leaveUnanswered(journal, "no-model");
  const errors: unknown[] = [];
  const expiry = { see: () => {}, settle: async () => 0, sweep: async () => 0, stop: () => {} };
  const parts = { expiry, onEvent: () => {}, onError: (error: unknown) => errors.push(error) };
  const served = servedModels({
    models: ({ model }) => ofName(model),
    maxTurns: 1,
    maxTokens: 1,
  });
  const runs = localDriving({ runs: new ServerRuns(), runtime: await runtimeOf(journal), served, ...parts });
  readNow();
  await runs.sweep();
  expect(readNow()).toEqual(expect.arrayContaining(["with-program", "with-call", "rests", "program", "no-model"]));

  await clients.execute("return tools.pay({ euros: 2 })", { id: "unrelated" });
  readNow();
  await runs.sweep();
  expect(readNow()).toEqual(["unrelated"]);

  await clients.execution("with-program").decide({ [ending.approvals[0]?.callId ?? ""]: { allow: true } });
  readNow();
  await runs.sweep();
  expect(readNow()).not.toContain("with-call");
  expect(await journal.find("with-program")).toMatchObject({ ended: true });
  const taken = await clients.execution("with-program").resume({ model: known });
  expect([taken.ending.type, taken.answer]).toEqual(["answered", "7"]);
  expect(errors).toEqual([]);
});

test("a conversation that was left open is taken up once its host has the model", async () => {
  const { journal, readNow } = notedReads();
  await leaveUnanswered(journal, "one");
  const runtime = await runtimeOf(journal);
  const models: Model[] = [];
  const recover = () =>
    Array.fromAsync(runtime.recover({ model: ({ model }) => models.find((own) => own.name === model) }));
  expect(await recover()).toEqual([]);
  readNow();
  expect(await recover()).toEqual([]);
  expect(readNow()).toEqual([]);
  models.push(scriptedModel([{ text: "Done." }], { name: "missing" }));
  expect(await recover()).toMatchObject([{ execution: "one", answer: "Done." }]);
});

test.each([
  ["a call", direct],
  ["a call of its program", known],
])("a conversation that was left waiting is taken up once %s has waited for too long", async (_, model) => {
  const clock = settableClock();
  const { journal, readNow } = notedReads();
  const clients = await runtimeOf(journal);
  await clients.agent({ model, task: "Pay.", id: "one", limits: { waitMs: 60_000 } });
  const runtime = await runtimeOf(journal);
  const recover = () => Array.fromAsync(runtime.recover({ model: () => model }));
  expect(await recover()).toEqual([]);
  readNow();
  clock.jump(59_000);
  expect(await recover()).toEqual([]);
  expect(readNow()).toEqual([]);
  clock.jump(2000);
  expect(await recover()).toMatchObject([{ execution: "one", ending: { type: "answered" } }]);
});

test("an execution that cannot be taken up rests for five minutes before a sweep tries it again", async () => {
  const clock = settableClock();
  const { journal, readNow } = notedReads();
  await (await runtimeOf(journal)).execute("return tools.pay({ euros: 1 })", { id: "pays" });
  const runtime = await runtimeWith([], { journal });
  await runtime.execution("pays").decide({ 1: { allow: true } });
  const errors: unknown[] = [];
  const expiry = { see: () => {}, settle: async () => 0, sweep: async () => 0, stop: () => {} };
  const parts = { expiry, onEvent: () => {}, onError: (error: unknown) => errors.push(error) };
  const served = servedModels({ maxTurns: 1, maxTokens: 1 });
  const runs = localDriving({ runs: new ServerRuns(), runtime, served, ...parts });
  const sweep = async () => {
    readNow();
    await runs.sweep();
    return readNow();
  };
  expect([await sweep(), await sweep()]).toEqual([expect.arrayContaining(["pays"]), []]);
  clock.jump(300_000);
  expect(await sweep()).toContain("pays");
  expect(errors).toMatchObject([{ code: "tools_changed" }]);
});
