import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Approve, jsonSchema, type Runtime, type RuntimeOptions, type Tool } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import type { PolicyRequest } from "../../src/gate/index.ts";
import { journalWith, makeTool, notedTool, runs, runtimeWith } from "../support/index.ts";

const LATER: Approve = () => "later";
const never = () => false;
type ApprovalRequest = Parameters<Approve>[0];
type Input = Tool["inputSchema"];

const start = (tool: Tool, more: Partial<RuntimeOptions>) => runtimeWith([tool], more);

/** A tool that needs approval, and what its handler was given. */
function takes(input: Input, { approval = "always" }: { readonly approval?: "always" | typeof never } = {}) {
  const pay = { name: "pay", effect: "write", execute: () => "paid" } as const;
  const { tool, inputs: given } = notedTool({ ...pay, inputSchema: input, approval });
  return { tool, given };
}

const pays = (...inputs: readonly unknown[]) =>
  `const made = []; for (const input of ${JSON.stringify(inputs)}) made.push(await tools.pay(input).catch(({ code, message }) => \`\${code}: \${message}\`)); return made;`;

async function recordOf(journal: Journal, execution: string, call = "1") {
  const records = await Array.fromAsync(journal.read(execution));
  return records.flatMap((record) => (record.type === "call" && record.call === call ? [record] : []));
}

/** Numbers that no two conversions share, in this process. */
let conversions = 0;
const next = () => (conversions += 1);

const trimmed = z.object({ to: z.string().trim() });
const CONVERTED: readonly (readonly [string, Input, unknown, unknown])[] = [
  ["takes blanks off", trimmed, { to: " eve" }, { to: "eve" }],
  [
    "counts in cents",
    z.object({ amount: z.preprocess((value) => Number(value) * 100, z.number()) }),
    { amount: 5 },
    { amount: 500 },
  ],
  ["has defaults", z.object({ to: z.string().default("me") }), {}, { to: "me" }],
  [
    "is asynchronous",
    z.object({ to: z.string().transform(async (to) => `${to}@example.com`) }),
    { to: "eve" },
    { to: "eve@example.com" },
  ],
  [
    "changes what it was given",
    z.object({ to: z.preprocess((value) => Object.assign(value as object, { name: "mallory" }), z.looseObject({})) }),
    { to: { name: "eve" } },
    { to: { name: "mallory" } },
  ],
  ["leaves null out", jsonSchema({ type: "object", properties: { to: { type: "string" } } }), { to: null }, {}],
];

test.each(CONVERTED)(
  "policy, approver, journal, report and handler have one input, and beside it the one that was sent, if the schema %s",
  async (_, input, sent, converted) => {
    const { tool, given } = takes(input);
    const ruled: PolicyRequest[] = [];
    const asked: ApprovalRequest[] = [];
    const journal = createMemoryJournal();
    await using runtime = await start(tool, {
      journal,
      policy: (request) => {
        ruled.push(request);
        return "allow";
      },
      approve: (request) => {
        asked.push(request);
        return "later";
      },
    });
    const { execution, outcome } = await runtime.execute(pays(sent));
    const both = { input: converted, rawInput: sent };
    expect([ruled, asked]).toMatchObject([[both], [both]]);
    expect(outcome).toMatchObject({ type: "waiting", approvals: [both] });
    await runtime.execution(execution).resume({ decisions: { "1": { allow: true } } });
    expect(given).toEqual([converted]);
    // Written once, by the first record that knows it.
    const [held, allowed] = await recordOf(journal, execution);
    expect([held?.input, allowed?.input]).toEqual([JSON.stringify(converted), undefined]);
    expect(allowed?.inputDigest).toBe(held?.inputDigest);
    expect(held?.inputDigest).toBe(asked[0]?.inputDigest);
  },
);

test("an input that its schema leaves as it is is shown once, in whatever order its fields come", async () => {
  const { tool, given } = takes(z.object({ to: z.string(), n: z.number(), at: z.iso.datetime() }));
  const journal = createMemoryJournal();
  await using runtime = await start(tool, { journal, approve: LATER });
  const sent = { at: "2026-01-01T00:00:00Z", n: 1.5, to: "eve" };
  const { execution, outcome } = await runtime.execute(pays(sent));
  const [waits] = outcome.type === "waiting" ? outcome.approvals : [];
  expect(waits).toMatchObject({ input: sent });
  expect(waits?.rawInput).toBeUndefined();
  expect((await recordOf(journal, execution))[0]).not.toHaveProperty("input");
  await runtime.execution(execution).resume({ decisions: { "1": { allow: true } } });
  expect(given).toEqual([sent]);
});

test("a policy judges what the handler would get, and the journal says what that was", async () => {
  const { tool, given } = takes(z.object({ path: z.string().trim() }), { approval: never });
  const journal = createMemoryJournal();
  const policy = ({ input }: PolicyRequest) =>
    (input as { path: string }).path.startsWith("/etc") ? { deny: "not there" } : ("allow" as const);
  await using runtime = await start(tool, { journal, policy });
  const { execution, outcome } = await runtime.execute(pays({ path: "/etc" }, { path: " /etc" }, { path: " /tmp" }));
  const denied = expect.stringContaining("policy_denied");
  expect(outcome).toMatchObject({ value: [denied, denied, "paid"] });
  expect(given).toEqual([{ path: "/tmp" }]);
  expect(await recordOf(journal, execution, "2")).toMatchObject([{ decision: "refused", input: '{"path":"/etc"}' }]);
  expect(await recordOf(journal, execution, "3")).toMatchObject([{ decision: "allowed", input: '{"path":"/tmp"}' }]);
});

test("a policy or an approver that changes what it is shown changes nothing that others get", async () => {
  const { tool, given } = takes(trimmed);
  const spoil = ({ input, rawInput }: { readonly input: unknown; readonly rawInput?: unknown }) => {
    for (const one of [input, rawInput]) Object.assign(one as object, { to: "mallory" });
  };
  await using runtime = await start(tool, {
    policy: (request) => (spoil(request), "allow"),
    approve: (request) => (spoil(request), true),
  });
  await runtime.execute(pays({ to: " eve" }));
  expect(given).toEqual([{ to: "eve" }]);
});

const numbered = z.object({ to: z.string(), n: z.number().default(next) });
const late = z.object({ to: z.string().transform(async (to) => `${to} ${next()}`) });

test.each([
  ["a number", numbered, { to: "eve" }],
  ["a text, and asynchronously", late, { to: "eve" }],
] as const)(
  "a schema that makes %s anew each time makes what was shown, also in another runtime, and a call is made with that",
  async (_, input, sent) => {
    const { tool, given } = takes(input);
    const journal = createMemoryJournal();
    const seen: unknown[] = [];
    const open = (approve: Approve) =>
      start(tool, { journal, policy: (request) => (seen.push(request.input), "allow"), approve });
    let execution = "";
    {
      await using runtime = await open((request) => (seen.push(request.input), "later"));
      ({ execution } = await runtime.execute(pays(sent)));
    }
    await using runtime = await open(LATER);
    const { outcome } = await runtime.execution(execution).resume({ decisions: { "1": { allow: true } } });
    expect(outcome).toMatchObject({ value: ["paid"] });
    expect(seen).toHaveLength(2);
    for (const shown of seen) expect(JSON.parse(JSON.stringify(given[0]))).toEqual(shown);
  },
);

test("a call that was begun and is made again has the input that it had, though its schema makes another", async () => {
  const journal = createMemoryJournal();
  const { tool, given } = takes(numbered, { approval: never });
  const idempotent = { ...tool, effect: "idempotent" as const };
  await using runtime = await start(idempotent, { journal });
  const { execution } = await runtime.execute(pays({ to: "eve" }));
  const records = await Array.fromAsync(journal.read(execution));
  const begun = records.findIndex((record) => record.type === "call" && record.decision === "allowed");
  const other = await journalWith(records.slice(0, begun + 1));
  await using second = await start(idempotent, { journal: other });
  expect((await second.execution(execution).resume()).outcome).toMatchObject({ value: ["paid"] });
  expect(given).toEqual([given[0], given[0]]);
  // The journal has it where it was written first.
  expect((await recordOf(other, execution)).map(({ input }) => input)).toEqual([JSON.stringify(given[0]), undefined]);
});

test("what has no JSON form is shown as that, so that no rule takes it for a text, and the handler gets it", async () => {
  const { tool, given } = takes(
    z.object({ path: z.string().transform((path) => ({ path, run: () => path, size: 5n })), data: z.string() }),
  );
  const asked: unknown[] = [];
  await using runtime = await start(tool, { approve: ({ input, rawInput }) => asked.push(input, rawInput) > 0 });
  await runtime.execute(pays({ path: "/etc", data: "x" }));
  const without = (thing: string) => ({ "(not JSON)": thing });
  expect(asked).toEqual([
    { path: { path: "/etc", run: without("a function"), size: 5 }, data: "x" },
    { path: "/etc", data: "x" },
  ]);
  expect(given).toMatchObject([{ path: { path: "/etc", size: 5n } }]);
});

test.each<[string, () => unknown]>([
  ["a number without a form", () => ({ [`n${next()}`]: 5n })],
  ["a date", () => new Date(next())],
])("a call whose shown input, %s, cannot be made again is refused, and no handler runs", async (_, made) => {
  const { tool, given } = takes(z.object({ to: z.string().transform(made) }));
  await using runtime = await start(tool, { approve: () => true });
  const { outcome } = await runtime.execute(pays({ to: "eve" }));
  expect(outcome).toMatchObject({ value: [expect.stringMatching(/^input_invalid: .*makes another value/)] });
  expect(given).toEqual([]);
});

test("a remembered decision holds for the same input, and for no other, also if that becomes the same", async () => {
  const { tool, given } = takes(trimmed);
  const asked: unknown[] = [];
  const approve: Approve = ({ input }) => {
    asked.push(input);
    return { allow: true, remember: "execution" };
  };
  await using runtime = await start(tool, { approve });
  await runtime.execute(pays({ to: " eve" }, { to: " eve" }, { to: "eve" }, { to: "bob" }));
  expect(asked).toEqual([{ to: "eve" }, { to: "eve" }, { to: "bob" }]);
  expect(given).toEqual([{ to: "eve" }, { to: "eve" }, { to: "eve" }, { to: "bob" }]);

  const other = takes(numbered);
  asked.length = 0;
  await using second = await runtimeWith([other.tool], { approve });
  await second.execute(pays({ to: "eve" }, { to: "eve" }));
  expect(asked).toEqual(other.given);
  expect(asked).toHaveLength(2);
});

test("a remembered decision holds for no other input that becomes a value with the same JSON", async () => {
  for (const driven of ["at once", "from the journal"]) {
    const made = (to: string) => ({ to, toJSON: () => "****" });
    const { tool, given } = takes(z.object({ to: z.string().transform(made) }));
    const journal = createMemoryJournal();
    const decision = { allow: true, remember: "execution" } as const;
    const asked: unknown[] = [];
    const approve: Approve = ({ rawInput }) => (asked.push(rawInput) > 1 || driven !== "at once" ? "later" : decision);
    await using runtime = await start(tool, { journal, approve });
    const { execution, outcome } = await runtime.execute(pays({ to: "ann" }, { to: "ann" }, { to: "eve" }));
    const last =
      driven === "at once"
        ? outcome
        : (await runtime.execution(execution).resume({ decisions: { "1": decision } })).outcome;
    expect(last).toMatchObject({ type: "waiting", approvals: [{ callId: "3", rawInput: { to: "eve" } }] });
    expect(given).toMatchObject([{ to: { to: "ann" } }, { to: { to: "ann" } }]);
  }
});

test("the sums of a grant count what the handler gets, with a driver and without one", async () => {
  const cents = z.object({ amount: z.number().transform((amount) => amount * 100) });
  const grant = { sums: { "/amount": 1000 } };
  for (const decide of [
    async (runtime: Runtime, execution: string) => runtime.execution(execution).decide({ "1": { allow: true, grant } }),
    undefined,
  ]) {
    const { tool, given } = takes(cents);
    let asked = 0;
    const approve: Approve = () => ((asked += 1) > 1 || decide ? "later" : { allow: true, grant });
    await using runtime = await start(tool, { journal: createMemoryJournal(), approve });
    const { execution, outcome } = await runtime.execute(pays({ amount: 1 }, { amount: 9 }, { amount: 2 }));
    await decide?.(runtime, execution);
    const last = decide ? (await runtime.execution(execution).resume()).outcome : outcome;
    expect(last).toMatchObject({ type: "waiting", approvals: [{ callId: "3", input: { amount: 200 } }] });
    expect(given).toEqual([{ amount: 100 }, { amount: 900 }]);
  }
});

test("a client is given the input that a handler would get", async () => {
  const stock = makeTool({ name: "pay", inputSchema: trimmed, execute: "client" });
  await using runtime = await start(stock, { journal: createMemoryJournal() });
  const { outcome } = await runtime.execute(pays({ to: " eve" }));
  expect(outcome).toMatchObject({ calls: [{ input: { to: "eve" }, rawInput: { to: " eve" } }] });
});

test("whatever a schema makes of any data, what an approver is shown is what the handler gets, and what was sent", async () => {
  const anything = z.object({ made: z.any(), sent: z.any() }).transform(({ made, sent }) => ({ ...made, sent }));
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(
        fc.string().filter((name) => name !== "__proto__"),
        fc.jsonValue({ maxDepth: 3 }),
      ),
      fc.jsonValue({ maxDepth: 3 }),
      async (made, sent) => {
        const { tool, given } = takes(anything);
        const asked: ApprovalRequest[] = [];
        await using runtime = await start(tool, { approve: (request) => asked.push(request) > 0 });
        const input = JSON.parse(JSON.stringify({ made, sent })) as unknown;
        if (JSON.stringify(input).includes("__proto__")) return;
        await runtime.execute(pays(input));
        expect(asked.map((request) => request.input)).toEqual(given);
        expect(asked.map((request) => request.rawInput ?? request.input)).toEqual([input]);
      },
    ),
    { numRuns: runs(200) },
  );
});
