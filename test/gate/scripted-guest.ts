import * as fc from "fast-check";
import type { GuestFace } from "../../src/sandboxes/memory-sandbox.ts";

/** Something a guest does in a turn. */
export type Move =
  | { readonly kind: "call"; readonly tool: string; readonly body: string; readonly idStep: number }
  | { readonly kind: "timer"; readonly ms: number }
  | { readonly kind: "clear"; readonly id: number }
  | { readonly kind: "print"; readonly text: string }
  /** Any text at all, sent as a frame. */
  | { readonly kind: "raw"; readonly text: string }
  /** Says another number of open calls and timers than there are. */
  | { readonly kind: "miscount" }
  | { readonly kind: "settle"; readonly ok: boolean; readonly body: string };

/**
 * A guest that follows a script: to each event it is handed it answers with the moves of its next turn, and when
 * there are none left, it settles. It keeps to the protocol where its moves do not say otherwise, so that much of
 * what it sends gets as far as the gate. What it was sent is added to `heard`.
 */
export function scriptedGuest(turns: readonly (readonly Move[])[], heard: string[]): GuestFace {
  let frames = ['{"kind":"ready","protocol":1,"language":"javascript"}'];
  let turn = 0;
  let lastId = 0;
  let settled = false;
  const open = new Set<number>();
  const send = (header: object, body?: string) =>
    frames.push(body === undefined ? JSON.stringify(header) : `${JSON.stringify(header)}\n${body}`);
  const settle = (ok: boolean, body: string) => {
    send({ kind: "settled", ok, notes: [] }, body);
    settled = true;
  };
  const play = (move: Move): void => {
    switch (move.kind) {
      case "call": {
        const id = lastId + move.idStep;
        send({ kind: "call", id, tool: move.tool }, move.body);
        lastId = Math.max(lastId, id);
        open.add(id);
        return;
      }
      case "timer":
        lastId += 1;
        open.add(lastId);
        return void send({ kind: "timer", id: lastId, ms: move.ms });
      case "clear":
        return void send({ kind: "clear", id: move.id });
      case "print":
        return void send({ kind: "output", stream: "stdout", dropped: 0 }, JSON.stringify(move.text));
      case "raw":
        return void frames.push(move.text);
      case "miscount":
        return void open.add(-open.size - 1);
      case "settle":
        return settle(move.ok, move.body);
    }
  };
  return {
    deliver(text) {
      heard.push(text);
      const { kind, id } = JSON.parse(text.split("\n", 1)[0] ?? "") as { kind: string; id?: number };
      if (kind === "stop") open.clear();
      if (id !== undefined) open.delete(id);
      for (const move of turns[turn] ?? []) play(move);
      turn += 1;
      if (!settled && (turn >= turns.length || open.size === 0)) settle(true, "null");
      if (!settled) send({ kind: "turn_end", open: open.size });
    },
    drain() {
      const drained = frames.join("\u001e");
      frames = [];
      return drained;
    },
  };
}

/** Texts that are sent as the input of a call: nearly right ones, wrong ones, and no JSON at all. */
const bodies = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("{}", '{"id":"a"}', '{"id":"a","n":1}', '{"n":2,"extra":[true]}') },
  { weight: 2, arbitrary: fc.json() },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "",
      "null",
      "{",
      '{"__proto__":{"id":"a"}}',
      '{"id":"a","caller":"direct","allowedCallers":["programmatic"]}',
      "[".repeat(200) + "]".repeat(200),
      '{"id":1}',
      `{"id":"${"x".repeat(3000)}"}`,
    ),
  },
);

/** Frames of other kinds, other senders, or with more in them than belongs there. */
function forgedFrames(tools: readonly string[]): fc.Arbitrary<string> {
  const fields = fc.record({
    kind: fc.constantFrom("call", "answer", "start", "stop", "ready", "turn_end", "settled", "approve"),
    id: fc.oneof(fc.integer(), fc.string()),
    tool: fc.oneof(fc.constantFrom(...tools), fc.constant(["a"])),
    caller: fc.constantFrom("direct", "programmatic"),
    ok: fc.boolean(),
    open: fc.nat(3),
  });
  return fc.oneof(
    fields.map((header) => `${JSON.stringify(header)}\n{}`),
    fc.string(),
    fc.json(),
  );
}

/** Scripts of guests that ask for these tools; honest for the most part. */
export function scripts(tools: readonly string[]): fc.Arbitrary<readonly (readonly Move[])[]> {
  const call = (idStep: fc.Arbitrary<number>) =>
    fc.record({ kind: fc.constant("call" as const), tool: fc.constantFrom(...tools), body: bodies, idStep });
  const move = fc.oneof(
    { weight: 60, arbitrary: call(fc.constantFrom(1, 1, 1, 5)) },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant("timer" as const), ms: fc.constant(1) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("clear" as const), id: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("print" as const), text: fc.string() }) },
    { weight: 4, arbitrary: call(fc.constantFrom(0, 0, -1, -5)) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("raw" as const), text: forgedFrames(tools) }) },
    { weight: 1, arbitrary: fc.constant({ kind: "miscount" as const }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("settle" as const),
        ok: fc.boolean(),
        body: fc.constantFrom(...tools).map((tool) => JSON.stringify(faultAbout(tool))),
      }),
    },
  );
  return fc.array(fc.array(move, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 });
}

/** What a program fails with that misspelt a tool: the kind of fault that gets a hint. */
function faultAbout(tool: string) {
  return { name: "TypeError", message: `tools.${tool.slice(0, -1)} is not a function` };
}
