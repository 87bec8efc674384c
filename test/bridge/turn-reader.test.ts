import { expect, test } from "vitest";
import { frameText, type GuestFrame, type Language } from "../../bridge/frames.ts";
import { TIMERS_AT_ONCE } from "../../bridge/parse-frame.ts";
import { BridgeViolation, type Closes, TurnReader, TextTooLong } from "../../bridge/turn-reader.ts";

const ready: GuestFrame = { kind: "ready", protocol: 1, language: "javascript" };
const call = (id: number): GuestFrame => ({ kind: "call", id, tool: "t", body: "{}" });
const timer = (id: number): GuestFrame => ({ kind: "timer", id, ms: 1 });
const clear = (id: number): GuestFrame => ({ kind: "clear", id });
const stream = (id: number): GuestFrame => ({ kind: "call", id, tool: "rows", body: "{}" });
const next = (id: number): GuestFrame => ({ kind: "next", id });
const cancel = (id: number): GuestFrame => ({ kind: "cancel", id });
const turnEnd = (open: number): GuestFrame => ({ kind: "turn_end", open });
const output: GuestFrame = { kind: "output", stream: "stdout", dropped: 0, body: '"x"' };
const unreplayable: GuestFrame = { kind: "unreplayable", cause: "files" };
const settled: GuestFrame = { kind: "settled", ok: true, notes: [], body: "1" };

/** What the start tells of the tools. */
const STREAMS: Closes = { streams: ["rows"] };

const MOST_BYTES = 20_000_000;

/** A reader whose guest has greeted and was handed these events. */
function greeted(...events: readonly Closes[]): TurnReader {
  const reader = new TurnReader("javascript", MOST_BYTES);
  readText(reader, frameText(ready));
  for (const closes of events) reader.expect(closes);
  return reader;
}

/** Reads a frame's text, which takes two bytes of memory for each character. */
const readText = (reader: TurnReader, text: string) => reader.read(text, 2 * text.length);

/** The turn of these commands, as frames and as they crossed. */
const turnOf = (commands: readonly GuestFrame[], settled = false) => {
  const texts = commands.map(frameText);
  return { commands, texts, sizes: texts.map((text) => 2 * text.length), settled };
};

/** Reads frames; the last thing it gives is the turn that the last of them ended. */
function readAll(reader: TurnReader, frames: readonly GuestFrame[]) {
  return frames.map((frame) => readText(reader, frameText(frame))).at(-1);
}

function violation(reader: TurnReader, ...frames: readonly GuestFrame[]): string {
  readAll(reader, frames.slice(0, -1));
  try {
    readAll(reader, frames.slice(-1));
  } catch (error) {
    expect(error).toBeInstanceOf(BridgeViolation);
    return (error as Error).message;
  }
  return "none";
}

test("the frames between two turn ends are the commands of one turn, as frames and as they crossed", () => {
  const reader = greeted(undefined, undefined);
  const frames = [output, call(1), timer(2)];
  expect(readAll(reader, [...frames, turnEnd(2)])).toEqual(turnOf(frames));
  expect(readAll(reader, [turnEnd(2)])).toEqual({ commands: [], texts: [], sizes: [], settled: false });
});

test("settled ends the turn, belongs to it, and needs no turn end", () => {
  const reader = greeted(undefined);
  expect(readAll(reader, [call(1), settled])).toEqual(turnOf([call(1), settled], true));
  expect(reader.outstanding).toBe(0);
});

test("an event is outstanding until its turn has ended", () => {
  const reader = greeted(undefined, undefined);
  expect(reader.outstanding).toBe(2);
  readAll(reader, [output]);
  expect(reader.outstanding).toBe(2);
  readAll(reader, [turnEnd(0)]);
  expect(reader.outstanding).toBe(1);
});

test.each<[Language, GuestFrame, string]>([
  ["javascript", turnEnd(0), 'The guest began with "turn_end".'],
  ["javascript", settled, 'The guest began with "settled".'],
  ["javascript", { ...ready, protocol: 2 }, "The guest speaks version 2 of the protocol, the host version 1."],
  ["javascript", { ...ready, language: "python" }, "The guest runs python, not javascript."],
  ["python", ready, "The guest runs javascript, not python."],
])("a guest for %s that begins with %j is not spoken to", (language, frame, message) => {
  const reader = new TurnReader(language, MOST_BYTES);
  reader.expect(undefined);
  expect(violation(reader, frame)).toBe(message);
});

const NOT_DUE = "The guest asked for a batch of 1, which it was not due.";
const falling = (id: number, last: number) => `The guest used the id ${id} after ${last}: ids only rise.`;
const counted = (guest: number, host: number) => `The guest counts ${guest} open calls and timers, the host ${host}.`;
const noStream = (id: number) => `The guest cancelled ${id}, which is no stream.`;
const unasked = (kind: string) => `The guest sent "${kind}" though it was handed no event.`;

test.each<[string, readonly Closes[], readonly GuestFrame[], string]>([
  ["greets twice", [undefined], [ready], "The guest greeted twice."],
  [
    "says twice that it cannot be replayed",
    [undefined, undefined],
    [unreplayable, turnEnd(0), unreplayable],
    "The guest said twice that it cannot be replayed.",
  ],
  ["greets twice outside of a turn", [], [ready], unasked("ready")],
  ["speaks without an event", [], [call(1)], unasked("call")],
  ["ends a turn twice", [undefined], [turnEnd(0), turnEnd(0)], unasked("turn_end")],
  ["repeats an id", [undefined], [call(1), call(1)], falling(1, 1)],
  ["uses a timer's id for a call", [undefined], [timer(7), call(7)], falling(7, 7)],
  ["skips ids", [undefined], [call(7), timer(1012)], "The guest used the id 1012: it skips too many."],
  ["numbers downwards", [undefined], [call(5), timer(4)], falling(4, 5)],
  ["uses the id of a closed call again", [undefined, 1], [call(1), turnEnd(1), call(1)], falling(1, 1)],
  ["clears what never was", [undefined], [timer(1), clear(2)], "The guest cleared 2, which is no timer."],
  ["hides an open call", [undefined], [call(1), turnEnd(0)], counted(0, 1)],
  ["invents an open call", [undefined], [turnEnd(1)], counted(1, 0)],
  ["holds an answered call open", [undefined, 1], [call(1), turnEnd(1), turnEnd(1)], counted(1, 0)],
  [
    "speaks after it has settled",
    [undefined, undefined],
    [settled, call(1)],
    'The guest sent "call" after it had settled.',
  ],
  ["asks for a batch before any", [STREAMS], [stream(1), next(1)], NOT_DUE],
  ["asks for two batches for one", [STREAMS, { batchOf: 1 }], [stream(1), turnEnd(1), next(1), next(1)], NOT_DUE],
  ["asks for a batch of another call", [STREAMS], [call(1), next(1)], NOT_DUE],
  [
    "asks for a batch of a stream that has ended",
    [STREAMS, { batchOf: 1 }, 1],
    [stream(1), turnEnd(1), turnEnd(1), next(1)],
    NOT_DUE,
  ],
  [
    "asks for a batch of a stream that it has cancelled",
    [STREAMS, { batchOf: 1 }],
    [stream(1), turnEnd(1), cancel(1), next(1)],
    NOT_DUE,
  ],
  [
    "asks for a batch after it was stopped",
    [STREAMS, { batchOf: 1 }, "calls"],
    [stream(1), turnEnd(1), turnEnd(1), next(1)],
    NOT_DUE,
  ],
  ["cancels another call", [STREAMS], [call(1), cancel(1)], noStream(1)],
  ["cancels a timer", [STREAMS], [timer(1), cancel(1)], noStream(1)],
  ["cancels what never was", [STREAMS], [stream(1), cancel(2)], noStream(2)],
  ["holds a cancelled stream open", [STREAMS], [stream(1), cancel(1), turnEnd(1)], counted(1, 0)],
  ["settles twice", [undefined, undefined], [settled, settled], 'The guest sent "settled" after it had settled.'],
])("a guest that %s is not heard any further", (_, events, frames, message) => {
  expect(violation(greeted(...events), ...frames)).toBe(message);
});

test("a malformed frame is a violation that says what is malformed", () => {
  expect(() => readText(greeted(undefined), '{"kind":"clear"}')).toThrow(
    expect.objectContaining({ message: expect.stringMatching(/clear, .*`id`/) as string }),
  );
});

test("ids may start anywhere and leave gaps", () => {
  expect(readAll(greeted(undefined), [call(40), timer(41), call(1000), turnEnd(3)])?.commands).toHaveLength(3);
});

test("an answer closes its call from the first frame of the turn it begins", () => {
  expect(readAll(greeted(undefined, 1), [call(1), turnEnd(1), call(2), turnEnd(1)])?.settled).toBe(false);
});

test("a cleared timer is closed, and clearing a call or a timer that has fired closes nothing", () => {
  expect(readAll(greeted(undefined), [timer(1), clear(1), turnEnd(0)])?.commands).toHaveLength(2);
  expect(readAll(greeted(undefined), [call(1), clear(1), turnEnd(1)])?.commands).toHaveLength(2);
  expect(readAll(greeted(undefined, 1), [timer(1), turnEnd(1), clear(1), turnEnd(0)])?.commands).toHaveLength(1);
});

test("a timer that was cleared while it was due may still be fired at, and is not counted twice", () => {
  const frames = [timer(1), turnEnd(1), clear(1), turnEnd(0), turnEnd(0)];
  expect(readAll(greeted(undefined, undefined, 1), frames)).toEqual(turnOf([]));
});

test("a stop closes every call and leaves the timers", () => {
  const reader = greeted(undefined, "calls");
  expect(readAll(reader, [call(1), timer(2), call(3), turnEnd(3), turnEnd(1)])?.commands).toEqual([]);
});

test(`a guest may have ${TIMERS_AT_ONCE} timers open, and not one more`, () => {
  const reader = greeted(undefined);
  for (let id = 1; id <= TIMERS_AT_ONCE; id += 1) readText(reader, frameText(timer(id)));
  readText(reader, frameText(clear(1)));
  readText(reader, frameText(timer(TIMERS_AT_ONCE + 1)));
  expect(violation(reader, timer(TIMERS_AT_ONCE + 2))).toContain("10000 timers");
});

test("more text in one turn than may be held is given up before all of it is there", () => {
  const long: GuestFrame = { ...output, body: JSON.stringify("é".repeat(MOST_BYTES / 8)) };
  const inOne = greeted(undefined);
  readAll(inOne, [long, long, long]);
  expect(() => readText(inOne, frameText(long))).toThrow(TextTooLong);
  const inMany = greeted(undefined, undefined, undefined, undefined);
  for (let turn = 0; turn < 4; turn += 1) expect(readAll(inMany, [long, turnEnd(0)])?.commands).toEqual([long]);
});

test("commands without much text are not kept without end", () => {
  const reader = greeted(undefined);
  expect(() => {
    for (let frames = 0; frames < MOST_BYTES / 256; frames += 1) readText(reader, frameText(output));
  }).toThrow(TextTooLong);
});

test("a guest asks for one batch for each that it was sent, and may cancel a stream that has ended meanwhile", () => {
  const reader = greeted(STREAMS, { batchOf: 1 }, { batchOf: 1 }, 1, { batchOf: 2 });
  const turns = [
    [stream(1), stream(2), turnEnd(2)],
    [next(1), turnEnd(2)],
    [turnEnd(2)],
    [cancel(1), cancel(1), turnEnd(1)],
    [cancel(2), turnEnd(0)],
  ];
  for (const frames of turns) expect(readAll(reader, frames)).toMatchObject({ settled: false });
  expect(reader.outstanding).toBe(0);
});
