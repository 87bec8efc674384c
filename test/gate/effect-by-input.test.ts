import { expect, test } from "vitest";
import { z } from "zod";
import { type Effect } from "../../src/index.ts";
import type { Policy } from "../../src/gate/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { effectOfCall } from "../../src/tools/effect.ts";
import { recovered } from "../executions/recovered.ts";
import { makeTool, openSession } from "./open-session.ts";
import { leftOf, runtimeWith } from "../support/index.ts";

const INPUT = z.object({ method: z.enum(["GET", "PUT", "POST"]) });
const EFFECTS = { GET: "read", PUT: "idempotent", POST: "write" } as const;
const effect = ({ method }: z.infer<typeof INPUT>): Effect => EFFECTS[method];

test.each([
  ["throws", () => explode(), "the lookup failed"],
  ["gives a promise", (async () => "read") as never, "gave no effect"],
  ["gives another word", (() => "reads") as never, "gave no effect"],
  ["gives nothing", (() => undefined) as never, "gave no effect"],
])("where its function %s, the call is a write, and the operator is told", (_, given: () => Effect, why) => {
  const { effect: found, error } = effectOfCall(makeTool({ effect: given }), {});
  expect(found).toBe("write");
  expect(String(error)).toContain(why);
});

function explode(): never {
  throw new Error("the lookup failed");
}

test("the handler, the journal and the report have the effect of each call", async () => {
  const seen: Effect[] = [];
  const tool = makeTool({ inputSchema: INPUT, effect, execute: (_, context) => void seen.push(context.effect) });
  const { session, call, records } = openSession({ tools: [tool] });
  for (const method of ["GET", "PUT", "POST"]) await call({ method });
  const all = ["read", "idempotent", "write"];
  expect(seen).toEqual(all);
  expect(session.ledger.lines.map((line) => line.effect)).toEqual(all);
  expect(records.flatMap((record) => (record.type === "call" ? [record.effect] : []))).toEqual(all);
});

test("what a program that failed has done, and what a call that took too long may have done, go by the input", async () => {
  const tool = makeTool({
    name: "http",
    inputSchema: INPUT,
    effect,
    timeoutMs: 5,
    execute: ({ method }) => (method === "PUT" ? new Promise(() => {}) : "ok"),
  });
  await using runtime = await runtimeWith([tool]);
  const { output } = await runtime.execute(`
    for (const method of ["GET", "POST"]) await tools.http({ method });
    await tools.http({ method: "PUT" });
  `);
  expect(output.text).toMatch(/http .*5 ms .*may have taken effect/);
  expect(output.text).toMatch(/Already done.*: http\.\n/);
  expect(output.text).toMatch(/Started.*: http\./);
});

/** The first host dies in a call with this method, when the tool said `before`; the second one asks `after`. */
async function taken({ before, after }: { readonly before: Effect; readonly after: Effect }) {
  let runs = 0;
  const begun = Promise.withResolvers<void>();
  const make = (given: Effect) =>
    makeTool({
      effect: () => given,
      execute: () => {
        runs += 1;
        begun.resolve();
        return runs === 1 ? new Promise<never>(() => {}) : "done";
      },
    });
  const journal = createMemoryJournal();
  const first = await runtimeWith([make(before)], { journal });
  const running = first.execute("return await tools.t({});", { id: "one" });
  await begun.promise;
  const copy = await leftOf(journal, "one");
  await first[Symbol.asyncDispose]();
  await running;
  await using second = await runtimeWith([make(after)], { journal: copy });
  const [report] = await recovered(second);
  return { type: report?.outcome.type, runs };
}

test.each([
  ["read", "read", { type: "completed", runs: 2 }],
  ["idempotent", "read", { type: "completed", runs: 2 }],
  ["write", "write", { type: "waiting", runs: 1 }],
  ["write", "read", { type: "waiting", runs: 1 }],
  ["read", "write", { type: "waiting", runs: 1 }],
] as const)(
  "a call that was a %s when its host died, and is a %s now, is not repeated if either says write",
  async (before, after, result) => {
    expect(await taken({ before, after })).toEqual(result);
  },
);

test("none who are asked about a call can change what another sees of it, and its handler gets what the journal holds", async () => {
  const seen: Record<string, string> = {};
  const spoiling = (name: string) => (input: unknown) => {
    seen[name] = JSON.stringify(input);
    (input as { ids: string[] }).ids.push(name);
  };
  const tool = makeTool({
    effect: (input) => (spoiling("effect")(input), "write"),
    approval: (input) => (spoiling("approval")(input), false),
    execute: spoiling("handler"),
  });
  const policyOf =
    (name: string): Policy =>
    ({ input }) => (spoiling(name)(input), "allow");
  const asks: Policy = ({ input }) => (spoiling("asking")(input), "ask");
  for (const last of [policyOf("second"), asks]) {
    const { call } = openSession({
      tools: [tool],
      policies: [policyOf("first"), last],
      approve: ({ input }) => (spoiling("approver")(input), true),
    });
    expect(await call({ ids: ["1"] })).toMatchObject({ ok: true });
    expect(new Set(Object.values(seen))).toEqual(new Set(['{"ids":["1"]}']));
  }
  expect(Object.keys(seen).toSorted()).toEqual(
    ["approval", "approver", "asking", "effect", "first", "handler", "second"].toSorted(),
  );
});
