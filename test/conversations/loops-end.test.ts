import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type AgentOptions } from "../../src/index.ts";
import { type JournalRecord } from "../../src/journal/index.ts";
import type { Model, ToolChoice } from "../../src/models/index.ts";
import { type ScriptedModel, scriptedModel, type ScriptedStep, type ScriptedTurn } from "../../src/runtime/testing.ts";
import { codeOf, cutsOf, journalWith, makeTool, runtimeWith, throws } from "../support/index.ts";
import { changed, checkTranscript } from "./talk.ts";

const look = makeTool({
  name: "look",
  inputSchema: z.object({ at: z.number().default(0) }),
  allowedCallers: ["direct", "programmatic"],
  execute: ({ at }) => `seen ${at} ${"x".repeat(at)}`,
});

const direct = { inputSchema: z.object({}), allowedCallers: ["direct"] } as const;
const breaks = throws("hunter2");
const broken = makeTool({ ...direct, name: "broken", execute: breaks });

const call = (at = 0): ScriptedTurn => ({ calls: [{ tool: "look", input: { at } }] });
const failure = { code: "server_failed", message: "down" } as const;

/** Runs a script; then the same again from the places where its host may have died. */
async function run<Answer = string>(
  script: readonly ScriptedStep[],
  options: Partial<AgentOptions<unknown, Answer>> = {},
  models: (script: readonly ScriptedStep[]) => Model = scriptedModel,
) {
  const runtime = await runtimeWith([look, broken], { leaseMs: 100 });
  onTestFinished(() => runtime[Symbol.asyncDispose]());
  const model = models(script) as ScriptedModel;
  const report = await runtime.agent<Answer>({ model, task: "Do it.", ...options });
  expect(() => checkTranscript(report.transcript)).not.toThrow();
  const records = await Array.fromAsync(runtime.journal.read(report.execution));
  for (const cut of cutsOf(records)) {
    // Results of calls that are not made are appended with the ending, all or none.
    if (records[cut]?.type === "outcome" && isHost(records[cut - 1])) continue;
    const copy = await journalWith(records.slice(0, cut));
    await using after = await runtimeWith([look, broken], { journal: copy, leaseMs: 100 });
    const { fallbacks, answer, loop: { stopWhen, compact } = {} } = options;
    const chosen = (all: object) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const given = chosen({ fallbacks, answer, loop: chosen({ stopWhen, compact }) });
    const resumed = await after.execution(report.execution).resume<Answer>({
      model: models(script),
      ...given,
    });
    expect({ cut, ending: resumed.ending, turns: resumed.transcript.turns.map(({ turn }) => turn) }).toEqual({
      cut,
      ending: report.ending,
      turns: report.transcript.turns.map(({ turn }) => turn),
    });
    expect(resumed.answer).toEqual(report.answer);
  }
  return { report, records, model };
}

const isHost = (record: JournalRecord | undefined) => record?.type === "message" && record.from === "host";

/** A model that notes how each of its turns may call tools. */
function choosing(script: readonly ScriptedStep[], choices: (ToolChoice | undefined)[]): ScriptedModel {
  return changed(scriptedModel(script), (conversation, { turn }) => {
    conversation.turn = (request) => {
      choices.push(request.toolChoice);
      return turn(request);
    };
  });
}

const saidIn = ({
  transcript,
}: {
  readonly transcript: { readonly turns: readonly { readonly said?: readonly { readonly why?: string }[] }[] };
}) => transcript.turns.map(({ said = [] }) => said.map(({ why }) => why).join());

describe("the last turn", () => {
  test("has no calls, is told so, and its answer is marked", async () => {
    const choices: (ToolChoice | undefined)[] = [];
    const { report } = await run([call(1), call(2), { text: "Half." }], { loop: { maxTurns: 3 } }, (script) =>
      choosing(script, choices),
    );
    expect(report.ending).toEqual({ type: "answered", answer: "Half.", wrappedUp: true });
    expect(choices.slice(0, 3)).toEqual([undefined, undefined, "none"]);
    expect(saidIn(report)).toEqual(["", "", "wrap_up"]);
  });

  test.each<[string, Partial<AgentOptions>, object]>([
    ["tokens", { loop: { maxTokens: 250 } }, { outputTokens: 90 }],
    ["the context", { loop: { contextTokens: 1000 } }, { inputTokens: 990 }],
  ])("comes where %s are nearly spent", async (_, options, usage) => {
    const { report } = await run(
      [
        { ...call(1), usage },
        { text: "Half.", usage },
      ],
      options,
    );
    expect(report.ending).toEqual({ type: "answered", answer: "Half.", wrappedUp: true });
  });

  test("is not told with wrapUp: false, and calls in it are not made", async () => {
    const off = await run([call(1), call(2)], { loop: { maxTurns: 2, wrapUp: false } });
    expect([off.report.ending.type, saidIn(off.report)]).toEqual(["turns_spent", ["", ""]]);
    const on = await run([call(1), call(2)], { loop: { maxTurns: 2 } });
    expect(on.report.ending.type).toBe("turns_spent");
    expect(on.report.calls).toHaveLength(1);
    expect(on.report.transcript.turns.at(-1)?.results).toMatchObject([{ isError: true }]);
    expect(on.report.transcript.turns.at(-1)?.results[0]?.text).toContain("(turns_spent)");
  });
});

describe("a model that repeats itself", () => {
  test("is told after three times, and its conversation ends after one more", async () => {
    const { report } = await run([call(), call(), call(), call(), { text: "No." }]);
    expect(report.ending).toEqual({ type: "stuck", tool: "look", times: 4 });
    expect(saidIn(report)).toEqual(["", "", "", "stuck"]);
  });

  test.each<[string, ScriptedTurn, string]>([
    ["fails, under another id each time", { calls: [{ tool: "broken" }] }, "broken"],
    ["is large, and kept under another name each time", call(100_000), "look"],
    [
      "a program prints, and is kept under another name each time",
      { programs: ["for (let n = 0; n < 9000; n++) console.log(n);"] },
      "run_program",
    ],
    [
      "a program returns, and is kept under another name each time",
      { programs: ['return "x".repeat(100_000);'] },
      "run_program",
    ],
  ])("is told of what %s", async (_, turn, tool) => {
    const { report } = await run([turn, turn, turn, turn, { text: "No." }]);
    expect(report.ending).toEqual({ type: "stuck", tool, times: 4 });
  });

  test("goes on while answers differ, also by an id, or by a name that something was given elsewhere", async () => {
    let n = 0;
    const steps = [
      "call-1",
      "call-2",
      '{"artifact":"x-1"}',
      '{"artifact":"x-2"}',
      "result-1",
      "result-2",
      "under call 1.",
    ];
    const handler = () => steps[n++ % steps.length] ?? "";
    const next = makeTool({ ...direct, name: "next", execute: handler });
    await using runtime = await runtimeWith([next]);
    const turns = steps.map((): ScriptedTurn => ({ calls: [{ tool: "next" }] }));
    const { answer } = await runtime.agent({ model: scriptedModel([...turns, { text: "Yes." }]), task: "Do it." });
    expect(answer).toBe("Yes.");
  });

  test("goes on where it does something else", async () => {
    const { report } = await run([call(), call(), call(), call(1), call(), { text: "Yes." }]);
    expect(report.answer).toBe("Yes.");
  });
});

test("stopWhen ends a conversation after the calls of a turn", async () => {
  const { report } = await run([call(1), call(2), { text: "No." }], {
    loop: { stopWhen: ({ turns }) => turns.length === 2 },
  });
  expect(report.ending).toEqual({ type: "stopped" });
  expect(report.transcript.turns[1]?.results[0]?.text).toContain("seen 2");
});

test("a forced choice holds until the first call", async () => {
  const choices: (ToolChoice | undefined)[] = [];
  await run([call(1), { text: "Yes." }], { settings: { toolChoice: "required" } }, (script) =>
    choosing(script, choices),
  );
  expect(choices.slice(0, 2)).toEqual([undefined, "auto"]);
});

describe("a turn that was cut off", () => {
  const cut: ScriptedStep = { text: "It is", end: { type: "cut_off", reason: "length" } };

  test("is asked for once more with a smaller ask, and is not sent again", async () => {
    const { report, model } = await run([
      call(1),
      ({ said }) => (said.length > 1 ? { text: "Short." } : (cut as object)),
    ]);
    expect(report.answer).toBe("Short.");
    expect(saidIn(report)).toEqual(["", "", "cut_off"]);
    expect(model.conversations[1]).toHaveLength(2);
  });

  test("ends the conversation the second time", async () => {
    const { report } = await run([cut, (moment) => (moment.said.length > 1 ? (cut as object) : {}), { text: "No." }]);
    expect(report.ending.type).toBe("cut_off");
  });
});

describe("an answer with a schema", () => {
  const schema = z.object({ total: z.number().transform((total) => total * 2) });

  test("is checked, and its value is the report's", async () => {
    const { report, model } = await run(
      ['{"total":2}', '```json\n{"total":2}\n```'].map((text) => ({ text })).slice(1),
      { answer: schema },
    );
    expect(report.answer).toEqual({ total: 4 });
    const { opening } = model.conversations[0]?.[0] ?? {};
    expect(opening?.settings?.answer).toMatchObject({ required: ["total"] });
    expect(opening?.instructions).toContain("fit this JSON Schema");
  });

  test.each([
    ['<think>It may be {"total":1}.</think>\n{"total":2}', 4],
    ['It is two.\n</think>\n\n```json\n{"total":2}\n```', 4],
  ])("is read behind what a server leaves of the model's thoughts: %j", async (text, total) => {
    const { report, model } = await run([{ text }], { answer: schema });
    expect([report.answer, model.conversations[0]?.length]).toEqual([{ total }, 1]);
  });

  test("may hold the mark that ends thoughts", async () => {
    const { report } = await run([{ text: '{"a":"</think>"}' }], { answer: z.object({ a: z.string() }) });
    expect(report.answer).toEqual({ a: "</think>" });
  });

  test.each(["I think 2.", '{"total":"2"}', "{", "[]", '{"__proto__":1}'])(
    "%s is mended by one more turn",
    async (text) => {
      const { report } = await run([{ text }, { text: '{"total":1}' }], { answer: schema });
      expect(report.answer).toEqual({ total: 2 });
      expect(saidIn(report)).toEqual(["", "answer_invalid"]);
    },
  );

  test("whose schema never ends is left when the conversation is cancelled", async () => {
    const controller = new AbortController();
    const answer = z.number().refine(() => {
      queueMicrotask(() => controller.abort());
      return new Promise<boolean>(() => {});
    });
    await using runtime = await runtimeWith([]);
    const options = { model: scriptedModel([{ text: "1" }]), task: "t", signal: controller.signal, answer };
    expect((await runtime.agent(options)).ending).toMatchObject({ type: "cancelled" });
  });

  test("that does not fit twice ends the conversation", async () => {
    const { report } = await run([{ text: "2" }, { text: '{"total":[]}' }, { text: "No." }], { answer: schema });
    expect(report.ending).toMatchObject({ type: "answer_invalid", answer: '{"total":[]}' });
    expect(report.ending).toMatchObject({ reason: expect.stringContaining("total") as string });
    expect(report.answer).toBeUndefined();
  });
});

describe("where a model fails for good", () => {
  test("the next one goes on from the turns so far, and resume knows it", async () => {
    const second = scriptedModel([throws("not asked"), { text: "Second." }], { name: "scripted:second" });
    const { report, records } = await run([call(1), { failure }], { fallbacks: [second] });
    expect(report.answer).toBe("Second.");
    expect(report.transcript.model).toBe("scripted:second");
    expect(records.filter(({ type }) => type === "model")).toHaveLength(1);
  });

  test("one of the same name, at another address, is asked once", async () => {
    const [second, third] = [[{ failure }], [{ text: "Third." }]].map((script) => scriptedModel(script));
    const fallbacks = [second, second, third].filter((model) => model !== undefined);
    await using runtime = await runtimeWith([look]);
    const models = { model: scriptedModel([{ failure }]), fallbacks };
    expect((await runtime.agent({ ...models, task: "Do it." })).answer).toBe("Third.");
    expect(fallbacks.map(({ conversations }) => conversations.length)).toEqual([1, 1, 1]);
  });

  test("one that cannot take the conversation is passed over, and the last failure is the ending", async () => {
    const cannot: Model = {
      name: "cannot:m",
      hostsPrograms: true,
      converse: async () => {
        throw Object.assign(new Error("no key"), { code: "model_unavailable", [Symbol.for("portcullis.error")]: true });
      },
    };
    const last = scriptedModel([{ failure: { ...failure, message: "also down" } }], { name: "scripted:last" });
    const { report } = await run([{ failure }], { fallbacks: [cannot, last] });
    expect(report.ending).toMatchObject({ type: "provider_failed", failure: { message: "also down" } });
  });
});

describe("a context that is nearly full", () => {
  const usage = { inputTokens: 900 };
  const script: ScriptedStep[] = [call(5000), call(1), call(2), { ...call(3), usage }, { text: "Done." }];
  /** A script is a function of what it was told, as the model of a shorter history is told less. */
  const told: ScriptedStep[] = [call(1), ({ said }) => (said.length > 1 ? { text: "Done." } : { ...call(2), usage })];

  test("is relieved of old results, which leave handles", async () => {
    const { report, model, records } = await run(script, { loop: { contextTokens: 1000 } });
    expect(report.answer).toBe("Done.");
    expect(records.filter(({ type }) => type === "compact")).toHaveLength(1);
    expect(report.transcript.turns[0]?.results[0]?.text).toHaveLength(5012);
    expect(model.conversations).toHaveLength(2);
  });

  test("never tells the model to repeat a call that may have changed something, or a program", async () => {
    const big = (name: string, effect: "read" | "idempotent" | "write") =>
      makeTool({ name, allowedCallers: ["direct", "programmatic"], effect, execute: () => "x".repeat(5000) });
    const tools = [big("reads", "read"), big("puts", "idempotent"), big("pays", "write"), look];
    await using runtime = await runtimeWith(tools);
    const model = scriptedModel([
      { calls: tools.slice(0, 3).map(({ name: tool }) => ({ tool })), programs: ["return tools.pays({})"] },
      call(1),
      { ...call(2), usage },
      { text: "Done." },
    ]);
    await runtime.agent({ model, task: "Do it.", loop: { contextTokens: 1000 } });
    const { results = [] } = model.conversations[1]?.[1] ?? {};
    expect(results.map(({ text }) => (text.includes("call again") ? "again" : text.includes("do not repeat")))).toEqual(
      ["again", true, true, true],
    );
  });

  test("is made shorter as the developer says", async () => {
    const said = [{ by: "user", message: "So far: nothing." }] as const;
    const { report, records } = await run(told, {
      loop: { contextTokens: 1000, compact: (history) => history.slice(-1).map((one) => ({ ...one, said })) },
    });
    expect(report.answer).toBe("Done.");
    const compact = records.find(({ type }) => type === "compact");
    expect(compact).toMatchObject({ history: JSON.stringify([{ turn: 1, said, results: [] }]) });
    const ids = report.transcript.turns.flatMap(({ turn }) => turn.calls.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each<[string, NonNullable<NonNullable<AgentOptions["loop"]>["compact"]>]>([
    ["no array", () => null as never],
    ["a foreign turn", (history) => history.map((one) => ({ ...one, turn: { ...one.turn } }))],
    ["another order", (history) => history.toReversed()],
    ["no results", (history) => history.map((one) => ({ ...one, results: [] }))],
    ["a message without a sender", (history) => history.map((one) => ({ ...one, said: [{ message: "x" } as never] }))],
    [
      "a result without its provenance",
      (history) =>
        history.map((one) => ({ ...one, results: one.results.map(({ callId }) => ({ callId, text: "x" }) as never) })),
    ],
  ])("%s is refused with a sentence", async (_, compact) => {
    expect(await codeOf(run(script, { loop: { contextTokens: 1000, compact } }))).toBe("option_invalid");
  });
});

test("retries of the provider are journalled, and reasoning and arguments are events", async () => {
  const model = changed(scriptedModel([{ text: "Yes." }]), (conversation, { turn }) => {
    conversation.turn = async (request) => {
      await request.onRetry?.({ attempt: 1, reason: "overloaded\u001b[31m", delayMs: 5 });
      request.onReasoning?.("hm");
      request.onArgument?.({ index: 0, tool: "run_program", text: "ret" });
      return turn(request);
    };
  });
  const events: object[] = [];
  const { records } = await run([], { model, onEvent: (event) => events.push(event) }, () => model);
  expect(records).toContainEqual(expect.objectContaining({ type: "retry", attempt: 1, delayMs: 5 }));
  expect(records.some((record) => record.type === "retry" && record.reason.includes("\u001b"))).toBe(false);
  expect(events).toContainEqual(expect.objectContaining({ type: "reasoning", text: "hm" }));
  expect(events).toContainEqual(expect.objectContaining({ type: "argument", tool: "run_program", text: "ret" }));
});
