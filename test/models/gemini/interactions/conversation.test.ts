import { describe, expect, test } from "vitest";
import { createRuntime, gemini } from "../../../../src/index.ts";
import { createMemoryJournal } from "../../../../src/journal/index.ts";
import { createMemorySandbox } from "../../../../src/runtime/testing.ts";
import { describeOfAll } from "../../../support/all-tests.ts";
import { driveAndRestore, OPENING } from "../../converse.ts";
import { ask, behavesAsModel, counted } from "../../provider.suite.ts";
import { serve, type Served, type Wire, type WireStep } from "../../wire.ts";
import { geminiWire } from "../wire.ts";
import { interactionsWire, interactionsWireWith } from "./wire.ts";

const storedWire = interactionsWireWith({ store: true });

behavesAsModel("Gemini Interactions", interactionsWire);
describeOfAll("stored by the provider", () =>
  behavesAsModel("Gemini Interactions, stored", storedWire, { sameReplies: true }),
);

type Fields = Readonly<Record<string, unknown>>;
const CALL = { text: "I call.", calls: [{ tool: "f", input: { k: 1 } }] };
const inputsOf = ({ asked }: Served) =>
  asked.map(({ body }) => (body.input as readonly Fields[]).map(({ type }) => type));

/** A thought before each of two calls, all signed. */
const SIGNED: WireStep[] = [1, 2].map((turn) => ({
  raw: {
    steps: [
      { type: "thought", signature: `thought-${turn}`, summary: [{ type: "text", text: "Hm." }] },
      { type: "function_call", id: `a${turn}`, name: "f", arguments: { k: turn }, signature: `call-${turn}` },
      { type: "function_call", id: `b${turn}`, name: "f", arguments: { k: -turn } },
    ],
  },
}));

describe.each([
  ["streamed", true],
  ["in one piece", false],
])("%s", (_, stream) => {
  test("nothing is stored unless that is asked for: each request has the whole history", async () => {
    await using served = await serve(interactionsWire, [CALL, CALL, { text: "4" }]);
    const { answer } = await ask(served, { tools: [counted("f").tool], stream });
    expect([answer, served.refusals]).toEqual(["4", []]);
    for (const { body } of served.asked) {
      expect(body.store).toBe(false);
      expect(body).not.toHaveProperty("previous_interaction_id");
    }
    const turn = ["thought", "model_output", "function_call", "function_result"];
    expect(inputsOf(served)).toEqual([["user_input"], ["user_input", ...turn], ["user_input", ...turn, ...turn]]);
  });

  test("G7: with previous_interaction_id only what is new is sent, and tools, instructions and settings again", async () => {
    await using served = await serve(storedWire, [CALL, CALL, { text: "4" }]);
    const { answer } = await ask(served, { tools: [counted("f").tool], stream, task: "Do it.", temperature: 1 });
    expect([answer, served.refusals]).toEqual(["4", []]);
    expect(served.asked.map(({ body }) => [body.store, body.previous_interaction_id])).toEqual([
      [true, undefined],
      [true, "interaction_1"],
      [true, "interaction_2"],
    ]);
    expect(inputsOf(served)).toEqual([["user_input"], ["function_result"], ["function_result"]]);
    for (const name of ["tools", "system_instruction", "generation_config", "model"])
      expect(new Set(served.asked.map(({ body }) => JSON.stringify(body[name]))).size, name).toBe(1);
  });

  // The server refuses a step without its signature, and `ask` compares the requests of restored conversations.
  test("signatures of thoughts and of calls go back where they came, also from a journal", async () => {
    const f = counted("f");
    await using served = await serve(interactionsWire, [...SIGNED, { text: "4" }]);
    const { answer, transcript } = await ask(served, { tools: [f.tool], stream });
    expect([answer, served.refusals]).toEqual(["4", []]);
    expect(f.inputs).toEqual([{ k: 1 }, { k: -1 }, { k: 2 }, { k: -2 }]);
    const sent = served.asked[2]?.body.input as readonly Fields[];
    expect(sent.flatMap(({ signature }) => signature ?? [])).toEqual(["thought-1", "call-1", "thought-2", "call-2"]);
    expect(JSON.stringify(transcript)).not.toContain("call-1");
  });

  test.each([false, true])(
    "a conversation is taken up from its journal by another process (stored: %j)",
    async (store) => {
      const journal = createMemoryJournal();
      const f = counted("f");
      await using served = await serve(store ? storedWire : interactionsWire, [...SIGNED, { text: "4" }]);
      {
        await using runtime = await createRuntime({ tools: [f.tool], journal, sandbox: createMemorySandbox() });
        const talk = await runtime.converse({ model: served.model({ stream }), programs: "none", execution: "one" });
        await talk.step("Do it.");
        await talk.leave();
      }
      await using runtime = await createRuntime({ tools: [f.tool], journal, sandbox: createMemorySandbox() });
      await using talk = await runtime.converse({ model: served.model({ stream }), continue: "one" });
      expect((await talk.say()).answer).toBe("4");
      expect([served.refusals, f.inputs.length, served.asked.length]).toEqual([[], 4, 3]);
      const previous = served.asked.map(({ body }) => body.previous_interaction_id);
      expect(previous).toEqual(
        store ? [undefined, "interaction_1", "interaction_2"] : [undefined, undefined, undefined],
      );
    },
  );

  const forgotten: readonly (readonly [status: number, error: Fields])[] = [
    [400, { message: "Invalid turn token: interaction_1", code: "invalid_request" }],
    [404, { message: "Requested entity was not found.", code: "not_found" }],
    [404, { message: "Interaction not found.", code: 404, status: "NOT_FOUND" }],
    [403, { message: "The interaction interaction_1 has expired.", code: 403, status: "PERMISSION_DENIED" }],
    [410, { message: "interaction_1 does not exist", code: "gone" }],
  ];

  /** The model with a server that refuses to go on from the first interaction. */
  const refusing = (served: Served, status: number, error: Fields) => {
    const refused: Fields[] = [];
    const model = served.model({
      stream,
      fetch: async (input, init) => {
        const body = JSON.parse(init?.body as string) as Fields;
        if (body.previous_interaction_id !== "interaction_1") return await fetch(input, init);
        refused.push(body);
        return new Response(JSON.stringify({ error }), { status, headers: { "content-type": "application/json" } });
      },
    });
    return { model, refused };
  };

  test.each(forgotten)(
    "a server that no longer has an interaction gets the whole history, once, and goes on from there (%i %j)",
    async (status, error) => {
      const f = counted("f");
      await using served = await serve(storedWire, [...SIGNED, { text: "4" }]);
      const { model, refused } = refusing(served, status, error);
      await using runtime = await createRuntime({ tools: [f.tool], sandbox: createMemorySandbox() });
      const { answer, usage } = await runtime.agent({ model, task: "Do it.", programs: "none" });
      expect([answer, served.refusals, refused.length, usage.turns]).toEqual(["4", [], 1, 3]);
      expect(served.asked.map(({ body }) => body.previous_interaction_id)).toEqual([
        undefined,
        undefined,
        "interaction_2",
      ]);
      expect(inputsOf(served)[1]).toEqual([
        "user_input",
        "thought",
        "function_call",
        "function_call",
        "function_result",
        "function_result",
      ]);
    },
  );

  test.each<[number, Fields]>([
    [404, { message: "models/gemini-test is not found for API version v1beta", code: "not_found" }],
    [404, { message: "fault 404", code: 404 }],
    [400, { message: "Request contains an invalid argument.", code: "invalid_request" }],
    [400, { message: "The legacy Interactions API schema is no longer supported.", code: "invalid_request" }],
    [403, { message: "The caller does not have permission", code: 403 }],
    [400, { message: "interaction_1 is too long", code: "invalid_request" }],
    [401, { message: "The interaction interaction_1 does not exist", code: 401 }],
  ])("no other refusal is answered with the whole history (%i %j)", async (status, error) => {
    await using served = await serve(storedWire, [...SIGNED]);
    const { model, refused } = refusing(served, status, error);
    await using runtime = await createRuntime({ tools: [counted("f").tool], sandbox: createMemorySandbox() });
    const { ending } = await runtime.agent({ model, task: "Do it.", programs: "none" });
    expect(ending).toMatchObject({ type: "provider_failed", failure: { status } });
    expect([served.asked.length, refused.length]).toEqual([1, 1]);
  });

  test("a request without previous_interaction_id is never sent twice for a missing interaction", async () => {
    let sent = 0;
    const gone = { error: { message: "Interaction not found.", code: "not_found" } };
    for (const wire of [interactionsWire, storedWire]) {
      await using served = await serve(wire, []);
      const { ending } = await ask(served, {
        stream,
        fetch: async () => ((sent += 1), new Response(JSON.stringify(gone), { status: 404 })),
      });
      expect(ending).toMatchObject({ type: "provider_failed", failure: { code: "request_refused" } });
    }
    expect(sent).toBe(2);
  });

  test.each<[Fields, object]>([
    [{ status: "requires_action", steps: [] }, { code: "reply_invalid" }],
    [{ status: "in_progress" }, { code: "reply_invalid" }],
    [{ status: "queued" }, { code: "reply_invalid" }],
    [{ status: "cancelled" }, { code: "reply_invalid" }],
    [{ status: "failed", errors: [{ message: "Overloaded", code: "unavailable" }] }, { code: "overloaded" }],
    [{ status: "failed", error: { message: "x", code: "resource_exhausted" } }, { code: "rate_limited" }],
    [{ status: "failed", error: { message: "x", code: "hasOwnProperty" } }, { code: "server_failed" }],
  ])("an interaction with %j is the failure %j", async (raw, failure) => {
    await using served = await serve(interactionsWire, [{ text: "I", raw }]);
    expect((await ask(served, { stream })).ending).toMatchObject({ type: "provider_failed", failure });
  });

  test.each(["incomplete", "budget_exceeded", "requires_continuation"])(
    "no call of an interaction that is %s is made, and the model is told once",
    async (status) => {
      const f = counted("f");
      const raw = { status, continuation_token: "t" };
      const cut = { ...CALL, end: "cut_off", raw } as const;
      await using served = await serve(interactionsWire, [cut, { text: "Short." }]);
      const { answer } = await ask(served, { tools: [f.tool], stream });
      expect([answer, served.refusals, f.inputs]).toEqual(["Short.", [], []]);
      expect(served.asked[1]?.text).toContain("Your last turn was cut off");
    },
  );

  test.each<[string, Fields]>([
    ["no id", { type: "function_call", name: "f", arguments: {} }],
    ["an empty id", { type: "function_call", id: "", name: "f", arguments: {} }],
    ["no name", { type: "function_call", id: "a", arguments: {} }],
    ["a number for a name", { type: "function_call", id: "a", name: 5, arguments: {} }],
    ["no kind", { id: "a", name: "f" }],
  ])("a reply with a step that has %s is invalid, and nothing runs", async (_why, step) => {
    const f = counted("f");
    await using served = await serve(interactionsWire, [{ raw: { steps: [step], status: "requires_action" } }]);
    const { ending } = await ask(served, { tools: [f.tool], stream });
    expect(ending).toMatchObject({ type: "provider_failed", failure: { code: "reply_invalid" } });
    expect(f.inputs).toEqual([]);
  });

  test("steps of unknown kinds and unknown fields go back unchanged", async () => {
    const steps = [
      { type: "hologram", id: "h", light: { deep: [1] } },
      { type: "function_call", id: "a", name: "f", arguments: { k: 1 }, later: { field: 1 } },
    ];
    await using served = await serve(interactionsWire, [{ raw: { steps } }, { text: "4" }]);
    const { answer } = await ask(served, { tools: [counted("f").tool], stream });
    expect([answer, served.refusals]).toEqual(["4", []]);
  });

  test("annotations and other parts of a text go back, and its addresses are citations", async () => {
    const url = "https://docs.example.com/a";
    const content = [
      { type: "text", text: "Four", annotations: [{ type: "url_citation", url, title: "A", start_index: 0 }] },
      { type: "image", data: "eHg=", mime_type: "image/png" },
      { type: "text", text: "teen" },
    ];
    const call = { type: "function_call", id: "a", name: "f", arguments: { k: 1 } };
    const steps = [{ type: "model_output", content }, call];
    await using served = await serve(interactionsWire, [{ raw: { steps } }, { text: "4" }]);
    const { transcript } = await ask(served, { tools: [counted("f").tool], stream });
    expect(served.refusals).toEqual([]);
    expect(transcript.turns[0]?.turn).toMatchObject({ text: "Fourteen", citations: [{ url, title: "A" }] });
  });
});

test("images and files of results are sent beside the value, and a restored conversation sends the same bytes", async () => {
  const part = { type: "image", mediaType: "image/png", data: "eHg=", name: "a.png" } as const;
  for (const wire of [interactionsWire, storedWire] satisfies Wire[]) {
    await using served = await serve(wire, [CALL, { text: "4" }]);
    const { sent, again } = await driveAndRestore((fetch) => served.model({ fetch }), fetch, OPENING, [
      { say: "Draw.", results: () => ({ parts: [part] }) },
      {},
    ]);
    expect([served.refusals, again]).toEqual([[], sent]);
    const { input } = JSON.parse(sent[1] ?? "") as { readonly input: readonly Fields[] };
    expect(input.at(-1)).toMatchObject({
      type: "function_result",
      result: [{ type: "text" }, { type: "image", data: "eHg=", mime_type: "image/png" }],
    });
  }
});

test("a conversation of one api is not taken up with the other, which has another name", async () => {
  for (const [first, second] of [
    [interactionsWire, geminiWire],
    [geminiWire, interactionsWire],
  ] as const) {
    const journal = createMemoryJournal();
    const f = counted("f");
    await using served = await serve(first, [CALL]);
    await using other = await serve(second, [{ text: "4" }]);
    await using runtime = await createRuntime({ tools: [f.tool], journal, sandbox: createMemorySandbox() });
    const talk = await runtime.converse({ model: served.model(), programs: "none", execution: "one" });
    await talk.step("Do it.");
    await talk.leave();
    const taken = async () => {
      await using again = await runtime.converse({ model: other.model(), continue: "one" });
      await again.say();
    };
    await expect(taken()).rejects.toMatchObject({ code: "option_invalid" });
    expect(other.asked).toEqual([]);
  }
});

test("store needs Interactions, and an unknown api is refused", () => {
  expect(() => gemini({ model: "m", apiKey: "k", store: true })).toThrow('store needs api: "interactions"');
  expect(() => gemini({ model: "m", apiKey: "k", api: "interaction" as never })).toThrow("gemini({ api })");
});
