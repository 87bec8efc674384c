import { createMemoryJournal } from "portcullis/journal";
import { expect, test } from "vitest";
import { settableClock } from "../../support/clock.ts";
import { pay, tool } from "../../support/tools.ts";
import { KEYS, openServer } from "../servers.ts";

const keys = { keys: KEYS.keys.filter(({ id }) => id === "ann") };
const WAITS = { program: "return tools.pay({}).catch(({ code }) => code)", id: "pays", limits: { waitMs: 3_600_000 } };

test("a call that has waited for too long ends its wait, although nothing has changed since the server looked last", async () => {
  const clock = settableClock();
  await using door = await openServer({ keys }, { tools: [pay] });
  await door.run(WAITS);
  for (let times = 0; times < 2; times += 1) expect(await door.server.recover()).toBe(0);
  const status = async () => (await door.ask("GET", "/v1/executions/pays")).json;
  expect((await status()).state).toBe("waiting");
  clock.jump(3_600_000);
  await door.server.recover();
  expect((await status()).outcome).toEqual({ type: "completed", value: "approval_expired" });
});

test("an execution that cannot be taken up is told of once, and taken up when it can be", async () => {
  const journal = createMemoryJournal();
  {
    await using door = await openServer({ keys }, { journal, tools: [pay] });
    await door.run(WAITS);
    const [{ execution } = { execution: "" }] = await Array.fromAsync(journal.list());
    await door.runtime.execution(execution, { tenant: "acme" }).decide({ 1: { allow: true, by: "ann" } });
  }
  let tools = [tool("other", () => 1)];
  await using door = await openServer({ keys }, { journal, tools: () => tools });
  for (let times = 0; times < 2; times += 1) expect(await door.server.recover()).toBe(0);
  tools = [pay];
  expect(await door.server.recover()).toBe(1);
  expect(door.errors.splice(0)).toMatchObject([{ code: "tools_changed" }]);
  expect((await door.ask("GET", "/v1/executions/pays")).json.outcome).toEqual({ type: "completed", value: "paid" });
});
