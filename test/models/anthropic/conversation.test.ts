import { describe, expect, test } from "vitest";
import { z } from "zod";
import { jsonSchema } from "../../../src/index.ts";
import { AnthropicStream } from "../../../src/models/anthropic/reply.ts";
import { makeTool } from "../../gate/open-session.ts";
import { anthropicWire, unmarked } from "./wire.ts";
import { UNSHOWN } from "../converse.ts";
import { ask, type Asking, behavesAsModel, counted, askOn, depot, depots } from "../provider.suite.ts";
import { MODES, serve, type Served, type WireStep } from "../wire.ts";
import { runtimeWith, throws } from "../../support/index.ts";

behavesAsModel("Anthropic Messages", anthropicWire);

const direct = { type: "direct" };
const fromProgram = { type: "code_execution_20260120", tool_id: "srvtoolu_c" };
const program = (code = "…") => ({
  type: "server_tool_use",
  id: "srvtoolu_c",
  name: "code_execution",
  caller: direct,
  input: { code },
});
const use = (id: string, name: string, input: unknown, caller: unknown = direct) => ({
  type: "tool_use",
  id,
  name,
  input,
  caller,
});
const text = (words: string) => ({ type: "text", text: words, citations: null });
const container = { id: "container_q", expires_at: new Date(Date.now() + 300_000).toISOString(), skills: null };
const printed = (stdout: string) => ({
  type: "code_execution_tool_result",
  tool_use_id: "srvtoolu_c",
  content: { type: "code_execution_result", stdout, stderr: "", return_code: 0, content: [] },
});

const both = ["direct", "programmatic"] as const;

const run = (script: readonly WireStep[], asking?: Asking) => askOn(anthropicWire, script, asking);

const lastMessage = ({ asked }: Served, request: number) =>
  (asked[request]?.body.messages as { role: string; content: Record<string, unknown>[] }[] | undefined)?.at(-1);

// ---- direct calls ----------------------------------------------------------------------------------------------

describe("direct calls", () => {
  test("A2: if one of two tools throws, both results are sent, the failed one marked and without the error", async () => {
    const broken = makeTool({
      name: "broken",
      allowedCallers: ["direct"],
      execute: throws("hunter2"),
    });
    const { served } = await run([{ calls: [{ tool: "broken" }, { tool: "f", input: { k: 1 } }] }, { text: "4" }], {
      tools: [broken, counted("f").tool],
    });
    const content = lastMessage(served, 1)?.content;
    expect(content?.map(({ is_error }) => is_error)).toEqual([true, undefined]);
    expect(JSON.stringify(content)).not.toMatch(/hunter2|at .*\.ts/);
  });

  const start = (block: object) => ({ type: "content_block_start", index: 0, content_block: block });
  const part = (partial_json: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "input_json_delta", partial_json },
  });
  const stop = { type: "content_block_stop", index: 0 };
  const end = [{ type: "message_delta", delta: { stop_reason: "tool_use" } }, { type: "message_stop" }];

  test("A3: an input in pieces is one call once its block has stopped, and none before", () => {
    const stream = new AnthropicStream(UNSHOWN);
    for (const event of [start(use("toolu_1", "f", {})), part(""), part('{"k"'), part(":1}")]) stream.take(event);
    expect(stream.reply).toBeUndefined();
    for (const event of [stop, ...end]) stream.take(event);
    expect(stream.reply?.content).toEqual([use("toolu_1", "f", { k: 1 })]);
    expect(stream.reply?.inputTexts[0]).toBe('{"k":1}');
  });

  test.each<[string, readonly object[]]>([
    ["a block that has not stopped", []],
    ["two blocks at one place", [stop, start(use("toolu_2", "g", {})), stop]],
    ["a piece without a place", [{ ...part("{}"), index: undefined }, stop]],
    ["a piece of a block that never began", [{ ...part("{}"), index: 1 }, stop]],
  ])("a stream with %s is no reply", (_, events) => {
    const stream = new AnthropicStream(UNSHOWN);
    const read = () => {
      for (const event of [start(use("toolu_1", "f", {})), part('{"k":1}'), ...events, ...end]) stream.take(event);
      if (stream.reply === undefined) throw new SyntaxError("It broke off.");
    };
    expect(read).toThrow(SyntaxError);
  });

  test("a deeply nested input, or one with __proto__, reaches no handler", async () => {
    const f = counted("f", { inputSchema: z.looseObject({}) });
    const deep = `{"k":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    const endings = [];
    for (const inputText of [deep, '{"__proto__":{"polluted":1}}']) {
      await using served = await serve({ ...anthropicWire, refuse: () => undefined }, [
        { calls: [{ tool: "f", inputText }] },
        { text: "4" },
      ]);
      endings.push((await ask(served, { tools: [f.tool] })).ending.type);
    }
    expect([f.inputs, Object.hasOwn(Object.prototype, "polluted")]).toEqual([[], false]);
    expect(endings).toEqual([expect.stringMatching(/answered|provider_failed/), "answered"]);
  });

  test("A17: no tool is strict beside hosted programs", async () => {
    const { served } = await run([{ text: "4" }], { tools: [depot()], programs: "hosted" });
    expect(JSON.stringify(served.asked[0]?.body.tools)).not.toContain("strict");
  });

  test("A18: a recursive schema of a tool for hosted programs is refused before any request", async () => {
    const schema = jsonSchema({ type: "object", properties: { child: { $ref: "#" } } });
    const tree = makeTool({ name: "tree", allowedCallers: both, inputSchema: schema });
    await using served = await serve(anthropicWire, [{ text: "4" }]);
    await expect(ask(served, { tools: [tree], programs: "hosted" })).rejects.toThrow(
      'Tool "tree": its input schema refers to itself',
    );
    const onlyDirect = makeTool({ name: "tree", allowedCallers: ["direct"], inputSchema: schema });
    expect((await ask(served, { tools: [onlyDirect, depot()], programs: "hosted" })).answer).toBe("4");
  });
});

// ---- programs of the provider ----------------------------------------------------------------------------------

describe.each(MODES)("hosted programs, %s", (_, stream) => {
  const hosted = (script: readonly WireStep[], asking: Asking = {}) =>
    run(script, { tools: [depot()], programs: "hosted", stream, ...asking });
  const paused = (...calls: object[]) => ({
    raw: { content: [text("I will total both."), program(), ...calls], container },
  });

  test("two pauses of one program, with calls in parallel, and then its output and the answer", async () => {
    const { ending, served, transcript, calls, events } = await withEvents((onEvent) =>
      hosted(
        [
          paused(use("toolu_d1", "depot", { id: 1 }, fromProgram), use("toolu_d2", "depot", { id: 2 }, fromProgram)),
          { raw: { content: [use("toolu_d3", "depot", { id: 3 }, fromProgram)], container } },
          { raw: { content: [printed("48\n"), text("It is 48.")], stop_reason: "end_turn", container } },
        ],
        { onEvent },
      ),
    );
    expect(served.refusals).toEqual([]);
    expect(ending).toEqual({ type: "answered", answer: "It is 48." });
    expect(calls).toMatchObject(
      [1, 2, 3].map((n) => ({ callId: `toolu_d${n}`, caller: "programmatic", outcome: { type: "value" } })),
    );
    expect(unmarked(lastMessage(served, 1)?.content)).toEqual([
      { type: "tool_result", tool_use_id: "toolu_d1", content: '{"n":8}' },
      { type: "tool_result", tool_use_id: "toolu_d2", content: '{"n":16}' },
    ]);
    expect(transcript.turns.flatMap(({ turn }) => turn.hosted)).toEqual([
      { type: "hosted_program_started", program: "srvtoolu_c", source: "…" },
      { type: "hosted_program_ended", program: "srvtoolu_c", output: "48\n", isError: false },
    ]);
    expect(events).toEqual(["program_started", "program_ended"]);
    expect(JSON.stringify(transcript)).not.toMatch(/container_q|loopback-key/);
  });

  test("a hosted program is told of an array for a tool that streams, and gets it", async () => {
    const { served } = await hosted(
      [
        paused(use("toolu_d1", "depot", { id: 1 }, fromProgram)),
        { raw: { content: [printed("9"), text("9")], stop_reason: "end_turn", container } },
      ],
      { tools: [depots()] },
    );
    expect(served.refusals).toEqual([]);
    expect(lastMessage(served, 1)?.content).toMatchObject([{ content: '[{"n":1},{"n":8}]' }]);
    expect(JSON.stringify(served.asked[0]?.body.tools)).toContain("{ n: number }[]");
  });

  test("A8, A15: a paused program is answered in its container, which the end of a stream names, with the same tools and only with results", async () => {
    const { served } = await hosted([
      paused(use("toolu_d1", "depot", { id: 1 }, fromProgram)),
      { raw: { content: [printed("8"), text("8")] } },
    ]);
    const [first, second] = served.asked;
    expect([first?.body.container, second?.body.container]).toEqual([undefined, "container_q"]);
    expect(second?.body.tools).toEqual(first?.body.tools);
    expect(first?.body.tools).toMatchObject([
      { type: "code_execution_20260120", name: "code_execution" },
      { name: "depot", allowed_callers: ["code_execution_20260120"] },
    ]);
  });

  const interruptedTalk = async (served: Served) => {
    const begun = Promise.withResolvers<void>();
    const never = () => (begun.resolve(), new Promise<never>(() => {}));
    const slow = makeTool({ name: "depot", inputSchema: z.object({ id: z.number() }), execute: never });
    const runtime = await runtimeWith([slow]);
    const talk = await runtime.conversation({ model: served.model({ stream }), programs: "hosted" });
    const saying = talk.send("Total both.");
    await begun.promise;
    talk.interrupt();
    expect((await saying).ending).toEqual({ type: "cancelled" });
    return { talk, [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose]() };
  };
  const stopped = {
    raw: { content: [printed(""), text("The program was stopped.")], stop_reason: "end_turn", container },
  };

  test("what is said after an interrupted program is read before the answer: the results go first, alone, and no step ends before", async () => {
    const script = [paused(use("toolu_d1", "depot", { id: 1 }, fromProgram)), stopped, { text: "Then only one." }];
    await using served = await serve(anthropicWire, script);
    await using one = await interruptedTalk(served);
    expect((await one.talk.send("Only one then.")).answer).toBe("Then only one.");
    expect(served.refusals).toEqual([]);
    const content = "Error: The user interrupted before this call had an answer.";
    expect(unmarked(lastMessage(served, 1)?.content)).toEqual([
      { type: "tool_result", tool_use_id: "toolu_d1", content, is_error: true },
    ]);
    expect(unmarked(lastMessage(served, 2)?.content)).toEqual([{ type: "text", text: "Only one then." }]);
    await using again = await serve(anthropicWire, script);
    await using other = await interruptedTalk(again);
    expect(await other.talk.step("Only one then.")).toEqual({ text: "The program was stopped.", calls: [] });
    expect((await other.talk.step()).ending).toEqual({ type: "answered", answer: "Then only one." });
  });

  test("A13: a caller of a later version of hosted programs is accepted, any other is refused", async () => {
    const f = counted("f", { allowedCallers: both });
    const later = { type: "code_execution_20270101", tool_id: "srvtoolu_c" };
    const content = [
      program(),
      use("toolu_1", "f", { k: 1 }, later),
      use("toolu_2", "f", { k: 2 }, { type: "agent_20270101" }),
    ];
    const { ending } = await hosted(
      [{ raw: { content, container } }, { raw: { content: [printed("8"), text("8")] } }],
      { tools: [f.tool] },
    );
    expect([ending.type, f.inputs]).toEqual(["answered", [{ k: 1 }]]);
  });

  test("A14: a turn that the provider pauses is sent back unchanged, up to maxTurns", async () => {
    const pause = { raw: { content: [text("Hm.")], stop_reason: "pause_turn" } };
    const { answer, served } = await hosted([pause, pause, { text: "4" }]);
    expect([answer, served.refusals]).toEqual(["4", []]);
    expect(served.asked.map(({ body }) => (body.messages as unknown[]).length)).toEqual([1, 2, 3]);
    expect((await hosted([pause, pause, pause], { loop: { maxTurns: 2 } })).ending).toEqual({
      type: "turns_spent",
      allowed: 2,
    });
  });

  test("A16: output that only the provider can read is sent back unchanged, and is nowhere text", async () => {
    const { stdout: _stdout, ...result } = printed("").content;
    const output = { ...result, type: "encrypted_code_execution_result", encrypted_stdout: "c2VjcmV0" };
    const sealed = { ...printed(""), content: output };
    const content = [program(), sealed, use("toolu_1", "f", { k: 1 })];
    const { served, answer, transcript } = await hosted([{ raw: { content, container } }, { text: "4" }], {
      tools: [counted("f").tool, depot()],
    });
    expect([answer, served.refusals]).toEqual(["4", []]);
    expect(JSON.stringify(transcript)).not.toContain("c2VjcmV0");
  });

  test("the files that a hosted program left are told by the ids by which its provider gives them out", async () => {
    const files = ["file_011", "file_012", "file_011", "file 3", "x".repeat(300)];
    const left = (type: string, output: string) => {
      const { content, ...result } = printed("");
      return { ...result, content: { ...content, type, content: files.map((file_id) => ({ type: output, file_id })) } };
    };
    const events: unknown[] = [];
    const bash = { type: "server_tool_use", id: "srvtoolu_b", name: "bash_code_execution", input: { command: "plot" } };
    const bashed = {
      ...left("bash_code_execution_result", "bash_code_execution_output"),
      type: "bash_code_execution_tool_result",
      tool_use_id: "srvtoolu_b",
    };
    const content = [program(), left("code_execution_result", "code_execution_output"), bash, bashed, text("Done.")];
    const { transcript } = await hosted([{ raw: { content, container } }], {
      onEvent: (event) =>
        (event.type === "program_ended" || event.type === "hosted_call_ended") && events.push(event.files),
    });
    const ended = transcript.turns[0]?.turn.hosted.filter(({ type }) => type.endsWith("_ended"));
    expect(ended).toMatchObject([1, 2].map(() => ({ files: ["file_011", "file_012"] })));
    expect(events).toEqual([1, 2].map(() => ["file_011", "file_012"]));
  });

  test("A20: an answer that would come after the container's expiry is a timeout for the program", async () => {
    const hang = makeTool({ name: "depot", effect: "write", execute: () => new Promise(() => {}) });
    const soon = { ...container, expires_at: new Date(Date.now() + 4000).toISOString() };
    const { ending, served } = await hosted(
      [
        { raw: { content: [program(), use("toolu_d1", "depot", { id: 1 }, fromProgram)], container: soon } },
        { raw: { content: [printed("late"), text("late")] } },
      ],
      { tools: [hang] },
    );
    expect([ending.type, served.refusals]).toEqual(["answered", []]);
    expect(lastMessage(served, 1)?.content).toMatchObject([
      { is_error: true, content: expect.stringMatching(/^Error: TimeoutError: /) },
    ]);
  });

  test("if the container has expired when its program is answered, the conversation ends and no call is repeated", async () => {
    const f = counted("depot", { allowedCallers: ["programmatic"], effect: "write" });
    const { ending, transcript } = await hosted(
      [paused(use("toolu_d1", "depot", { k: 1 }, fromProgram)), { fault: "status", status: 400 }],
      { tools: [f.tool], retries: 2 },
    );
    expect(ending).toMatchObject({ type: "provider_failed", failure: { code: "request_refused", status: 400 } });
    expect([f.inputs.length, transcript.turns.length]).toEqual([1, 1]);
  });

  test("a hosted program that fails is reported as failed", async () => {
    const failed = {
      ...printed(""),
      content: { type: "code_execution_tool_result_error", error_code: "execution_time_exceeded" },
    };
    const { transcript } = await hosted([{ raw: { content: [program(), failed, text("No.")] } }]);
    expect(transcript.turns[0]?.turn.hosted.at(-1)).toEqual({
      type: "hosted_program_ended",
      program: "srvtoolu_c",
      output: "execution_time_exceeded",
      isError: true,
    });
  });
});

test("A9: a message of the user during a program is sent after the program has ended", async () => {
  await using served = await serve(anthropicWire, [
    { raw: { content: [program(), use("toolu_d1", "depot", { id: 1 }, fromProgram)], container } },
    { raw: { content: [printed("8"), text("8"), use("toolu_1", "depot", { id: 1 })] } },
    { text: "4" },
  ]);
  const conversation = await served.model().converse({
    instructions: "Work.",
    hosted: true,
    tools: [{ name: "depot", description: "Depot", inputSchema: { type: "object" }, callers: both }],
  });
  const request = { signal: new AbortController().signal, maxTokens: 1000, onText: () => {} };
  const provenance = { tool: "depot", bytes: 1 };
  conversation.say("Total both.");
  await conversation.turn(request);
  conversation.say("Hurry.");
  conversation.answer([{ callId: "toolu_d1", text: "8", isJson: true, isError: false, provenance }]);
  await conversation.turn(request);
  conversation.answer([{ callId: "toolu_1", text: "8", isJson: true, isError: false, provenance }]);
  expect(await conversation.turn(request)).toMatchObject({ type: "turn", text: "4" });
  expect(served.refusals).toEqual([]);
  expect(lastMessage(served, 1)?.content).toMatchObject([{ type: "tool_result", content: "8" }]);
  expect(lastMessage(served, 2)?.content).toMatchObject([{ type: "tool_result" }, { type: "text", text: "Hurry." }]);
});

test("A10: a result that looks like an image is sent to a program as text", async () => {
  const image = [{ type: "image", source: { type: "base64", media_type: "image/png", data: "aaaa" } }];
  const { served } = await run(
    [
      { raw: { content: [program(), use("toolu_d1", "picture", {}, fromProgram)], container } },
      { raw: { content: [printed("8"), text("8")] } },
    ],
    { tools: [makeTool({ name: "picture", execute: () => image })], programs: "hosted" },
  );
  expect(lastMessage(served, 1)?.content).toMatchObject([{ content: JSON.stringify(image) }]);
});

async function withEvents<Value>(act: (onEvent: NonNullable<Asking["onEvent"]>) => Promise<Value>) {
  const events: string[] = [];
  const value = await act((event) => void (event.type.startsWith("program_") && events.push(event.type)));
  return { ...value, events };
}

test("a hundred thousand citations of one text are read in linear time", () => {
  const stream = new AnthropicStream(UNSHOWN);
  stream.take({ type: "content_block_start", index: 0, content_block: { type: "text", text: "", citations: null } });
  for (let index = 0; index < 100_000; index += 1)
    stream.take({ type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: { index } } });
  stream.take({ type: "content_block_stop", index: 0 });
  stream.take({ type: "message_stop" });
  expect(stream.reply?.content[0]?.citations).toHaveLength(100_000);
});
