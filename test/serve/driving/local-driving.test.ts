import { createRuntime, type Runtime, type Tool } from "portcullis";
import { createMemoryJournal, type Journal } from "portcullis/journal";
import { createMemorySandbox } from "portcullis/testing";
import { expect, test } from "vitest";
import { localDriving } from "../../../src/serve/driving/local-driving.ts";
import { servedModels } from "../../../src/serve/served-models.ts";
import { ServerRuns } from "../../../src/serve/server-runs.ts";
import { settableClock } from "../../support/clock.ts";
import { tool } from "../../support/tools.ts";

const pay = { ...tool("bank.pay", () => "paid", { effect: "write" }), approvable: true, needsApproval: () => true };

const served = servedModels({ maxTurns: 1, maxTokens: 1 });

const NONE_LEFT = { see: () => {}, settle: async () => 0, sweep: async () => 0, stop: () => {} };

async function open(journal: Journal, tools: readonly Tool[] = [pay]) {
  const errors: unknown[] = [];
  const runtime = await createRuntime({ tools, journal, sandbox: createMemorySandbox(), approve: () => "later" });
  const onError = (error: unknown) => void errors.push(error);
  const parts = { runs: new ServerRuns(), runtime, served, expiry: NONE_LEFT, onEvent: () => {}, onError };
  const runs = localDriving(parts);
  return { runtime, errors, runs, [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose]() };
}

/** A program whose call waits for a decision. */
function begin(runtime: Runtime) {
  const program = "try { return await tools.bank.pay({}) } catch (error) { return error.code }";
  return runtime.execute(program, { id: "pays", limits: { waitMs: 60_000 } });
}

test("a sweep ends the wait of a call that has waited for too long, although nothing has changed since the last sweep", async () => {
  const clock = settableClock();
  const journal = createMemoryJournal();
  await using host = await open(journal);
  const { runtime, runs, errors } = host;
  expect((await begin(runtime)).outcome.type).toBe("waiting");
  for (let times = 0; times < 2; times += 1) await runs.sweep();
  expect((await journal.find("pays"))?.ended).toBe(false);
  clock.jump(60_000);
  await runs.sweep();
  expect((await runtime.execution("pays").resume()).outcome).toEqual({ type: "completed", value: "approval_expired" });
  expect(errors).toEqual([]);
});

test("an execution that cannot be taken up is told of once, and sweeps try it again after five minutes", async () => {
  const clock = settableClock();
  const memory = createMemoryJournal();
  let read = 0;
  const journal: Journal = {
    ...memory,
    read: (...given) => {
      read += 1;
      return memory.read(...given);
    },
  };
  {
    await using host = await open(journal);
    await begin(host.runtime);
    await host.runtime.execution("pays").decide({ 1: { allow: true, by: "ann" } });
  }
  await using host = await open(journal, [tool("other", () => 1)]);
  const { runs, errors } = host;
  const readBy = async () => {
    const before = read;
    await runs.sweep();
    return read - before;
  };
  expect(await readBy()).toBeGreaterThan(0);
  expect(await readBy()).toBe(0);
  clock.jump(5 * 60_000);
  expect(await readBy()).toBeGreaterThan(0);
  expect(errors).toMatchObject([{ code: "tools_changed" }]);
});
