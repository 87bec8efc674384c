import { describe, expect, test, vi } from "vitest";
import type { RequestRetry, TurnReply, TurnRequest } from "../../../src/models/model.ts";
import { someOf } from "../../support/all-tests.ts";
import { manualClock } from "../../support/clock.ts";
import { OPENING, requested } from "../converse.ts";
import { serve, type Wire, type WireModelOptions, type WireStep } from "../wire.ts";
import { WIRES } from "../wires.ts";

const AGAIN: WireStep = { fault: "status", status: 503, headers: { "retry-after": "0" } };

interface Asked {
  readonly reply: TurnReply;
  readonly retries: readonly RequestRetry[];
  readonly words: string;
}

async function ask(
  wire: Wire,
  script: readonly WireStep[],
  options: WireModelOptions = {},
  request: Partial<TurnRequest> = {},
): Promise<Asked> {
  await using served = await serve(wire, script);
  const conversation = await served.model({ retries: 2, ...options }).converse(OPENING);
  conversation.say("Do it.");
  const retries: RequestRetry[] = [];
  let words = "";
  const reply = await conversation.turn(
    requested({ onText: (text) => (words += text), onRetry: (retry) => void retries.push(retry), ...request }),
  );
  return { reply, retries, words };
}

describe.each(someOf(WIRES, 2))("with %s", (name, wire) => {
  test("S8: each repetition is told of before it, with its number, its wait and why", async () => {
    const { reply, retries } = await ask(wire, [AGAIN, AGAIN, { text: "4" }]);
    expect(reply).toMatchObject({ type: "turn", text: "4" });
    expect(retries).toEqual([1, 2].map((attempt) => ({ attempt, reason: "It answered with status 503.", delayMs: 0 })));
  });

  test("each status that may pass is asked again, as often as `retries` says, and the failure says how often", async () => {
    const headers = { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" };
    const busy = [408, 409, 429, 500, 503, 529].map((status): WireStep => ({ fault: "status", status, headers }));
    const { reply, retries } = await ask(wire, [...busy, { text: "4" }], { retries: 6 });
    expect([reply, retries.length]).toMatchObject([{ type: "turn", text: "4" }, 6]);
    const failed = await ask(wire, [...busy, { text: "Late." }], { retries: 5 });
    const message = expect.stringContaining("It was asked 6 times.") as string;
    expect(failed.reply).toMatchObject({ type: "failed", failure: { status: 529, message } });
    const once = await ask(wire, [AGAIN, { text: "Late." }], { retries: 0 });
    expect(JSON.stringify(once.reply)).not.toMatch(/asked|retr/);
  });

  test.each<Record<string, string>>([{ "retry-after": "20" }, {}])(
    "cancelling ends the wait before a request is repeated, %j",
    async (headers) => {
      manualClock();
      const controller = new AbortController();
      const sent = vi.fn(async (...given: Parameters<typeof fetch>) => {
        const response = await fetch(...given);
        setImmediate(() => controller.abort());
        return response;
      });
      const busy: WireStep = { fault: "status", status: 529, headers };
      const { reply } = await ask(wire, [busy], { retries: 100, fetch: sent }, { signal: controller.signal });
      expect([reply, sent.mock.calls.length]).toEqual([{ type: "aborted" }, 1]);
    },
  );

  test("S8: a repetition waits for who is told of it, and an error there ends the turn", async () => {
    let isTold = false;
    const script: WireStep[] = [AGAIN, () => ({ text: String(isTold) })];
    const { reply } = await ask(
      wire,
      script,
      {},
      {
        onRetry: async () => {
          await new Promise(setImmediate);
          isTold = true;
        },
      },
    );
    expect(reply).toMatchObject({ text: "true" });
    const taken = new Error("Another driver has taken the conversation over.");
    const asking = ask(wire, [AGAIN, { text: "4" }], {}, { onRetry: () => Promise.reject(taken) });
    await expect(asking).rejects.toBe(taken);
  });

  test("S9: a stream that fails before a piece of it was shown is asked for again, as often as requests are", async () => {
    const { reply, retries } = await ask(wire, [{ fault: "event" }, { text: "4" }]);
    expect(reply).toMatchObject({ type: "turn", text: "4" });
    expect(retries).toMatchObject([{ attempt: 1, reason: expect.stringContaining("before a piece of it was shown") }]);
    const failed = await ask(wire, [{ fault: "event" }, AGAIN, { fault: "event" }, { text: "Late." }]);
    expect(failed.reply).toMatchObject({
      type: "failed",
      failure: { message: expect.stringContaining("It was asked 3 times.") },
    });
    expect((await ask(wire, [{ fault: "event" }, { text: "Late." }], { retries: 0 })).retries).toEqual([]);
  });

  test("S9: a stream that breaks off after a piece of it was shown is not asked for again", async () => {
    const { reply, retries, words } = await ask(wire, [{ text: "One two three.", sent: "broken" }, { text: "Late." }]);
    expect(reply).toMatchObject({ type: "failed", failure: { code: "interrupted" } });
    expect([retries, words]).toEqual([[], "One two three."]);
  });

  test("S8: no repetition begins once the time for them is over, nor after a wait of more than 25 seconds", async () => {
    const { reply, retries } = await ask(wire, [{ ...AGAIN, headers: { "retry-after": "20" } }], { retryMs: 19_000 });
    expect([reply.type, retries]).toEqual(["failed", []]);
    const asked = await ask(wire, [{ ...AGAIN, headers: { "retry-after": "26" } }]);
    expect([asked.reply.type, asked.retries]).toEqual(["failed", []]);
    expect(JSON.stringify(asked.reply)).not.toMatch(/asked|retr/);
  });

  test.each([true, false])(
    "a reply nested 8,000 deep is asked for once, and every repetition is a request (streamed: %s)",
    async (stream) => {
      const deep = `${"[".repeat(8000)}${"]".repeat(8000)}`;
      let sent = 0;
      const fetched: typeof fetch = async (input, init) => {
        sent += 1;
        const response = await fetch(input, init);
        const { status, headers } = response;
        return new Response((await response.text()).replace(/\\*"DEEP\\*"/, deep), { status, headers });
      };
      // Gemini streams inputs as values, the others as pieces of their text.
      const call = stream && name !== "Gemini" ? { inputText: `{"k":${deep}}` } : { input: { k: "DEEP" } };
      const script = [{ calls: [{ tool: "f", ...call }] }, { text: "Late." }];
      const { reply, retries } = await ask(wire, script, { stream, fetch: fetched, retryMs: 3000 });
      expect([sent, retries]).toEqual([1, []]);
      if (reply.type === "failed") expect(reply.failure.code).toBe("reply_invalid");
      else expect(reply).toMatchObject({ type: "turn", calls: [expect.anything()] });
    },
  );

  test("a conversation whose reply broke off goes on, and repeats nothing that it has sent", async () => {
    const call = { calls: [{ tool: "f", input: { k: 1 } }] };
    await using served = await serve(wire, [{ fault: "event" }, call, { fault: "event" }, { text: "4" }]);
    const conversation = await served.model({ retries: 1 }).converse(OPENING);
    conversation.say("Do it.");
    const first = await conversation.turn(requested());
    const ids = first.type === "turn" ? first.calls.map(({ id }) => id) : [];
    const result = { text: "1", isJson: true, isError: false, provenance: { tool: "f", bytes: 1 } };
    conversation.answer(ids.map((callId) => ({ ...result, callId })));
    expect(await conversation.turn(requested())).toMatchObject({ type: "turn", text: "4" });
    expect(served.refusals).toEqual([]);
  });
});

test("what attempts that broke off have used is counted, and no tokens are spent beyond the allowance", async () => {
  const [, wire] = WIRES[0] ?? [];
  if (!wire) throw new Error("There is no wire.");
  const usage = { input_tokens: 50, output_tokens: 0 };
  const begun = { type: "message_start", message: { role: "assistant", content: [], usage } };
  const events = [
    { event: "message_start", data: JSON.stringify(begun) },
    { event: "error", data: JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Busy." } }) },
  ];
  let sent = 0;
  const failing: Wire = { ...wire, events: (turn, number) => (turn.text === "" ? events : wire.events(turn, number)) };
  const script = [{ text: "" }, { text: "" }, { text: "4" }];
  const asked = await ask({ ...failing, refuse: () => void (sent += 1) }, script, {});
  expect(asked.reply).toMatchObject({ type: "turn", usage: { inputTokens: 50 + 50 + 110 } });
  const spent = await ask({ ...failing, refuse: () => void (sent += 1) }, script, {}, { maxTokens: 60 });
  expect([spent.reply.type, spent.retries.length, sent]).toEqual(["failed", 1, 5]);
});
