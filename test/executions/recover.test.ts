import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, defineTool, type Report, type Tool, type Unrecovered } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { header, turn } from "../journal/records.ts";
import { runtimeWith } from "../support/runtime.ts";

const sandbox = createMemorySandbox();
const input = z.object({ n: z.number() });
const common = { description: "d", inputSchema: input, allowedCallers: ["programmatic"], effect: "read" } as const;
const plain = defineTool({ ...common, name: "plain", execute: ({ n }) => n });

/** A journal with executions of a program that calls this tool, as their hosts left them before their first turn. */
async function leftOpen<Context>(ids: readonly string[], tool: Tool<Context>, tenants?: readonly string[]) {
  const [from, to] = [createMemoryJournal(), createMemoryJournal()];
  await using runtime = await createRuntime<Context>({ tools: [tool], journal: from, sandbox });
  for (const [index, id] of ids.entries()) {
    const options = { id, tenant: tenants?.[index], context: { name: "first" } } as never;
    await runtime.execute(`return await tools.${tool.name}({ n: 1 });`, options);
    for await (const record of from.read(id)) if (record.type === "header") await to.create(record);
  }
  return to;
}

const outcomes = (all: readonly (Report | Unrecovered)[]) =>
  Object.fromEntries(
    all.map((one) => [one.execution, "error" in one ? (one.error as { code?: string }).code : one.outcome.type]),
  );

test("executions that cannot be taken up are told with their error, stay as they are, and do not end the others", async () => {
  const changed = defineTool({ ...common, name: "plain", inputSchema: z.object({}), execute: () => 1 });
  const journal = await leftOpen(["good-1", "good-2"], plain);
  for await (const record of (await leftOpen(["changed"], changed)).read("changed"))
    if (record.type === "header") await journal.create(record);
  await journal.create(header("unreadable"));
  await journal.append("unreadable", 1, [turn("no frame")]);
  await journal.create(header("no-limits", { limits: { calls: -1 } }));
  await journal.create(header("unknown-language", { language: "cobol", tools: [] }));
  await using runtime = await runtimeWith([plain], { journal });
  for (const concurrency of [1, 8]) {
    const told = await Array.fromAsync(runtime.recover({ concurrency }));
    expect(outcomes(told)).toEqual({
      changed: "tools_changed",
      unreadable: "journal_invalid",
      "no-limits": "journal_invalid",
      "unknown-language": "sandbox_unavailable",
      ...(concurrency === 1 ? { "good-1": "completed", "good-2": "completed" } : {}),
    });
  }
  expect(await journal.find("unreadable")).toMatchObject({ records: 2, ended: false });
  expect(await journal.find("changed")).toMatchObject({ records: 1, ended: false });
});

test("only those are taken up that the host chooses; the others stay open", async () => {
  const journal = await leftOpen(["one", "two", "three"], plain);
  await using runtime = await runtimeWith([plain], { journal });
  const told = await Array.fromAsync(runtime.recover({ only: ({ execution }) => execution === "two" }));
  expect(outcomes(told)).toEqual({ two: "completed" });
  const left = await Array.fromAsync(journal.list({ open: true }), ({ execution }) => execution);
  expect(left.toSorted()).toEqual(["one", "three"]);
});

test("so many are taken up at once as the option says, and each is reported as soon as it has ended", async () => {
  const ids = ["a", "b", "c", "d", "e"];
  const gates = new Map(ids.map((id) => [id, Promise.withResolvers<void>()]));
  const begun: string[] = [];
  let onBegun = () => {};
  const hold = defineTool({
    ...common,
    name: "hold",
    execute: async (_, { execution }) => {
      begun.push(execution);
      onBegun();
      await gates.get(execution)?.promise;
      return 1;
    },
  });
  for (const gate of gates.values()) gate.resolve();
  const journal = await leftOpen(ids, hold);
  begun.length = 0;
  for (const id of ids) gates.set(id, Promise.withResolvers<void>());
  const untilBegun = async (count: number) => {
    while (begun.length < count)
      await new Promise<void>((resolve) => {
        onBegun = resolve;
      });
  };
  await using runtime = await runtimeWith([hold], { journal });
  const reports = runtime.recover({ concurrency: 2 });
  const first = reports.next();
  await untilBegun(2);
  expect(begun).toEqual(["e", "d"]);
  gates.get("d")?.resolve();
  expect(await first).toMatchObject({ value: { execution: "d" } });
  const second = reports.next();
  await untilBegun(3);
  expect(begun).toEqual(["e", "d", "c"]);
  for (const gate of gates.values()) gate.resolve();
  const rest = [(await second).value, ...(await Array.fromAsync(reports))];
  expect(rest).toHaveLength(4);
});

test("executions that hosts may have died of come last, one after the other", async () => {
  let [open, most] = [0, 0];
  const order: string[] = [];
  const work = defineTool({
    ...common,
    name: "work",
    execute: async (_, { execution }) => {
      order.push(execution);
      most = Math.max(most, (open += 1));
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      open -= 1;
      return 1;
    },
  });
  const journal = await leftOpen(["good", "suspect-1", "suspect-2"], work);
  const at = 1;
  for (const execution of ["suspect-1", "suspect-2"])
    await journal.append(execution, 1, [
      { type: "claim", driver: "d", leaseMs: 0, at },
      { type: "hand", to: "program", at },
    ]);
  [most, order.length] = [0, 0];
  await using runtime = await runtimeWith([work], { journal });
  await Array.fromAsync(runtime.recover());
  expect([order[0], order.toSorted(), most]).toEqual(["good", ["good", "suspect-1", "suspect-2"], 1]);
});

test("each execution runs for its tenant, with the context that the host gives for it, and tells the runtime's listener", async () => {
  interface User {
    readonly name: string;
  }
  const seen: unknown[] = [];
  const who = defineTool<typeof input, undefined, User>({
    ...common,
    name: "who",
    execute: (_, { context, tenant }) => {
      seen.push([tenant, context.name]);
      return context.name;
    },
  });
  const journal = await leftOpen(["acme", "zeta"], who, ["acme", "zeta"]);
  seen.length = 0;
  const events: string[] = [];
  await using runtime = await createRuntime<User>({
    tools: [who],
    journal,
    sandbox,
    onEvent: (event) => events.push(`${event.execution} ${event.type}`),
  });
  const told = await Array.fromAsync(
    runtime.recover({
      context: ({ execution, tenant }) => {
        if (tenant === "zeta") throw new Error("There is no user.");
        return { name: `user of ${execution}` };
      },
    }),
  );
  expect(seen).toEqual([["acme", "user of acme"]]);
  expect(told).toMatchObject([
    { execution: "zeta", error: { code: "callback_failed", cause: { message: "There is no user." } } },
    { execution: "acme" },
  ]);
  expect(events).toContain("acme execution_ended");
});

test("a runtime that closes takes up nothing more", async () => {
  const journal = await leftOpen(["a", "b", "c"], plain);
  const runtime = await runtimeWith([plain], { journal });
  const reports = runtime.recover({ concurrency: 1 });
  expect(await reports.next()).toMatchObject({ value: { execution: "c" } });
  await runtime[Symbol.asyncDispose]();
  await expect(reports.next()).rejects.toMatchObject({ code: "runtime_closed" });
  expect((await journal.find("a")).ended).toBe(false);
});
