import { expect, test } from "vitest";
import { LONGEST_TIMER_MS, MalformedFrame, parseGuestFrame } from "../../bridge/parse-frame.ts";

type Header = Readonly<Record<string, unknown>>;

const ready = { kind: "ready", protocol: 1, language: "javascript" };
const call = { kind: "call", id: 1, tool: "crm.find" };
const timer = { kind: "timer", id: 1, ms: 1 };
const clear = { kind: "clear", id: 1 };
const output = { kind: "output", stream: "stdout", dropped: 0 };
const unreplayable = { kind: "unreplayable", cause: "files" };
const turnEnd = { kind: "turn_end", open: 0 };
const settled = { kind: "settled", ok: true, notes: [] };

/** Each kind, and what is sent after its header. */
const KINDS: readonly (readonly [Header, string])[] = [
  [ready, ""],
  [call, "\n{}"],
  [timer, ""],
  [clear, ""],
  [output, '\n"text"'],
  [unreplayable, ""],
  [turnEnd, ""],
  [settled, "\n1"],
];

function reasonFor(header: Header, after: string): string {
  const frame = parseGuestFrame(`${JSON.stringify(header)}${after}`);
  return frame instanceof MalformedFrame ? frame.reason : "accepted";
}

test.each<[Header, string?]>([
  [ready],
  [{ ...ready, protocol: 0, language: "python" }],
  [call, "{}"],
  [{ ...call, id: Number.MAX_SAFE_INTEGER, tool: "x".repeat(256) }, ""],
  [timer],
  [{ ...timer, ms: LONGEST_TIMER_MS }],
  [clear],
  [output, '"text"'],
  [{ ...output, stream: "stderr", dropped: 12 }, "not even JSON: whoever uses a body reads it"],
  [unreplayable],
  [{ ...unreplayable, cause: "native code" }],
  [turnEnd],
  [{ ...turnEnd, open: 20_000 }],
  [settled],
  [settled, "1\n2"],
  [{ ...settled, ok: false, notes: Array.from({ length: 8 }, () => "n".repeat(256)) }, "{}"],
])("a frame within its bounds is accepted as it was sent (frame %#)", (header, body) => {
  const frame = parseGuestFrame(`${JSON.stringify(header)}${body === undefined ? "" : `\n${body}`}`);
  expect(frame).toEqual(body === undefined ? header : { ...header, body });
});

const NO_COUNTS = [-1, 0.5, 2 ** 53, "1", null, true, [1], {}];
const NO_IDS = [0, ...NO_COUNTS];
const NO_NAMES = ["", "x".repeat(257), 1, null, ["a"], {}];

test.each<[Header, string, string, readonly unknown[]]>([
  [ready, "", "protocol", NO_COUNTS],
  [ready, "", "language", ["ruby", "", 1, null, ["javascript"], { toString: "javascript" }]],
  [call, "\n{}", "id", NO_IDS],
  [call, "\n{}", "tool", NO_NAMES],
  [timer, "", "id", NO_IDS],
  [timer, "", "ms", [...NO_IDS, LONGEST_TIMER_MS + 1]],
  [clear, "", "id", NO_IDS],
  [output, '\n""', "stream", ["stdin", "", 1, null, ["stdout"]]],
  [output, '\n""', "dropped", NO_COUNTS],
  [unreplayable, "", "cause", ["love", "", 1, null, ["files"], {}]],
  [turnEnd, "", "open", NO_COUNTS],
  [settled, "", "ok", ["true", 1, 0, null, []]],
  [settled, "", "notes", ["", {}, null, [1], ["n".repeat(257)], Array.from({ length: 9 }, () => ""), { length: 0 }]],
])(
  "in %j%s the field `%s` is held to its type and bounds, and the reason quotes what came",
  (header, after, field, wrong) => {
    for (const value of wrong)
      expect(reasonFor({ ...header, [field]: value }, after)).toBe(
        `its kind is ${String(header.kind)}, and \`${field}\` cannot be ${JSON.stringify(value).slice(0, 80)}`,
      );
    const { [field]: _, ...lacking } = header;
    expect(reasonFor(lacking, after)).toBe(`its kind is ${String(header.kind)}, and \`${field}\` cannot be absent`);
  },
);

test.each(KINDS)("a frame like %j%s with one more field is refused", (header, after) => {
  const reason = `its kind is ${String(header.kind)}, and it has fields that do not belong there`;
  expect(reasonFor({ ...header, extra: 1 }, after)).toBe(reason);
  expect(reasonFor({ ...header, body: "{}" }, after)).toBe(reason);
  expect(reasonFor({ ...header, hasOwnProperty: null }, after)).toBe(reason);
});

test.each([ready, timer, clear, unreplayable, turnEnd])("a body after %j is refused", (header) => {
  expect(reasonFor(header, "\n{}")).toBe(`its kind is ${header.kind}, and it has a body`);
  expect(reasonFor(header, "\n")).toBe(`its kind is ${header.kind}, and it has a body`);
});

test.each([call, output])("%j without a body is refused", (header) => {
  expect(reasonFor(header, "")).toBe(`its kind is ${header.kind}, and it lacks its body`);
});

test.each<readonly [string, string]>([
  ...["", "\n{}", "prepared", "null", '["call"]', '"call"', '{"kind":"clear","id":1'].map(
    (text) => [text, "its header is not a JSON object"] as const,
  ),
  ["{}", "its kind is unknown: absent"],
  ['{"kind":"answer"}', 'its kind is unknown: "answer"'],
  ['{"kind":"toString"}', 'its kind is unknown: "toString"'],
  ['{"kind":"__proto__"}', 'its kind is unknown: "__proto__"'],
  ['{"kind":["call"]}', 'its kind is unknown: ["call"]'],
  ['{"kind":1}', "its kind is unknown: 1"],
  [`{"kind":"${"x".repeat(200)}"}`, `its kind is unknown: "${"x".repeat(79)}`],
])("the text %j is refused with the reason in words", (text, reason) => {
  expect(parseGuestFrame(text)).toEqual(new MalformedFrame(reason));
});

test("a field that only a prototype would give is absent, and a field called __proto__ is one too many", () => {
  expect(parseGuestFrame('{"kind":"clear","__proto__":{"id":1}}')).toEqual(
    new MalformedFrame("its kind is clear, and `id` cannot be absent"),
  );
  expect(parseGuestFrame('{"kind":"clear","id":1,"__proto__":{"id":2}}')).toEqual(
    new MalformedFrame("its kind is clear, and it has fields that do not belong there"),
  );
  expect(parseGuestFrame('{"__proto__":{"kind":"clear"},"id":1}')).toEqual(
    new MalformedFrame("its kind is unknown: absent"),
  );
});

test("a header may have 4,096 characters and not one more, and a body's length does not count", () => {
  const padded = (length: number) => JSON.stringify(clear) + " ".repeat(length - JSON.stringify(clear).length);
  expect(parseGuestFrame(padded(4096))).toEqual(clear);
  expect(parseGuestFrame(padded(4097))).toEqual(
    new MalformedFrame("its header has 4097 characters, at most 4096 are allowed"),
  );
  expect(parseGuestFrame(`${JSON.stringify(call)}\n${" ".repeat(10_000)}`)).toMatchObject({ kind: "call" });
});

test.each([
  ...["crm.find", "save_artifact", "x".repeat(256), "x".repeat(257), "a b", "ä", 'a"b', "a\\b", ""].map((tool) => ({
    ...call,
    tool,
  })),
  ...[0, 1, 999_999_999_999_999, 2 ** 53 - 1, 2 ** 53, 1e21, 0.5, -1, "1"].map((id) => ({ ...call, id })),
  ...[0, 1, 10, 999_999_999_999_999, 2 ** 53, 1e21, -0.5, -1, "1"].map((open) => ({ ...turnEnd, open })),
])("a frame means the same however its header is spaced (frame %#)", (header) => {
  const text = JSON.stringify(header);
  for (const body of ["", "\n", "\n{}", "\n1\n2"])
    expect(parseGuestFrame(text + body)).toEqual(parseGuestFrame(text.replace(/^\{/, "{ ") + body));
});

test.each([
  '{"kind":"turn_end","open":01}',
  '{"kind":"turn_end","open":1}}',
  '{"kind":"turn_end","open":}',
  '{"kind":"turn_end","open":1} x',
  '{"kind":"call","id":01,"tool":"a"}\n1',
  '{"kind":"call","id":1,"tool":"a",}\n1',
  '{"kind":"call","id":1,"tool":"a","tool":1}\n1',
  '{"kind":"call","id":1,"tool":"a"}x\n1',
])("a text that only looks like a frame is refused: %s", (text) => {
  expect(parseGuestFrame(text)).toBeInstanceOf(MalformedFrame);
});
