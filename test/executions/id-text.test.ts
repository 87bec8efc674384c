import { createMemoryJournal } from "portcullis/journal";
import { createServer } from "portcullis/serve";
import { scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import { failing, runtimeWith } from "../support/index.ts";

const HALF = ["\ud800", "a\udc00", "\udc00\ud800"];
const INVALID = expect.objectContaining(failing("option_invalid", "well-formed Unicode"));

test.each(HALF)("%j as a tenant or an id is refused wherever a host names one, and nothing begins", async (half) => {
  const journal = createMemoryJournal();
  await expect(runtimeWith([], { journal, tenant: half })).rejects.toEqual(INVALID);
  await using runtime = await runtimeWith([], { journal });
  const model = scriptedModel([]);
  const attempts: Record<string, () => unknown> = {
    "execute({ tenant })": () => runtime.execute("return 1", { tenant: half }),
    "execute({ execution })": () => runtime.execute("return 1", { id: half }),
    "agent({ tenant })": () => runtime.agent({ model, task: "x", tenant: half }),
    "agent({ execution })": () => runtime.agent({ model, task: "x", id: half }),
    "call({ tenant })": () => runtime.call({ tool: "x", caller: "direct", input: {}, tenant: half }),
    "derive({ tenant })": async () => runtime.derive({ tenant: half }),
    "status({ tenant })": () => runtime.execution("x", { tenant: half }).status(),
    "decide({ tenant })": () => runtime.execution("x", { tenant: half }).decide({ 1: { allow: true } }),
  };
  for (const [what, attempt] of Object.entries(attempts))
    await expect((async () => attempt())(), what).rejects.toEqual(INVALID);
  for (const change of [{ tenant: half }, { id: half }])
    await expect(
      createServer(runtime, { keys: { keys: [{ id: "a", key: "0123456789abcdef", tenant: "t", ...change }] } }),
    ).rejects.toEqual(INVALID);
  expect(await Array.fromAsync(journal.list())).toEqual([]);
});
