import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as room from "../../../src/base/untrusted/untrusted-text.ts";
import { areSame, AT_ONCE, readJson, readPlainJson, type TextReader, asUntrusted } from "../../../src/base/index.ts";
import { throws } from "../../support/failing.ts";

const reader = (more: Partial<TextReader> = {}): TextReader => ({ tenant: "own", hold: () => () => {}, ...more });
const BOUNDS = { depth: 100, values: 1000 };
const FIELDS = [{ path: ["a"], values: 4_000_000, isPlain: true }];

/** What each reader makes of a text. A reader that is missing here fails the next test. */
const READERS = {
  readJson: (text: string, by: TextReader) => readJson(asUntrusted(text), BOUNDS, by),
  jsonFault: (text: string, by: TextReader) => room.jsonFault(asUntrusted(text), BOUNDS, by),
  plainFault: (text: string, by: TextReader) => room.plainFault(asUntrusted(text), by),
  readPlainJson: (text: string, by: TextReader) => readPlainJson(asUntrusted(text), by),
  readExact: (text: string, by: TextReader) => room.readExact(asUntrusted(text), BOUNDS, by),
  readJsonMessage: (text: string, by: TextReader) =>
    room.readJsonMessage(asUntrusted(text), { fields: FIELDS, bounds: BOUNDS, inPlace: "{}" }, by),
  readPlainEscapes: (text: string, by: TextReader) => room.readPlainEscapes(asUntrusted(text), by),
  repeats: async (text: string, by: TextReader) => room.repeats(asUntrusted('[{"a":[1]}]'), [asUntrusted(text)], by),
  entriesOf: (text: string) => room.entriesOf(asUntrusted(text), 3, "own"),
  areSame: (text: string, by: TextReader) => areSame([[asUntrusted(text), asUntrusted(` ${text}`)]], by),
  passOn: (text: string) => room.passOn(asUntrusted(text)),
  bytesOf: (text: string) => room.bytesOf(asUntrusted(text)),
  isBlank: (text: string) => room.isBlank(asUntrusted(text)),
};

test("each reader of the room is tried below", () => {
  const readers = Object.keys(room).filter(
    (name) => !["asUntrusted", "AT_ONCE", "PARSED_VALUES", "LargeEntry", "readerOf", "readerFor"].includes(name),
  );
  expect(Object.keys(READERS).toSorted()).toEqual(readers.toSorted());
});

const HUGE = 4_000_000;
const TEXTS: readonly (readonly [string, string])[] = [
  ["nothing", ""],
  ["one character", "["],
  ["brackets without an end", "[".repeat(HUGE)],
  ["brackets", "[".repeat(HUGE / 2) + "]".repeat(HUGE / 2)],
  ["braces", '{"a":'.repeat(HUGE / 5)],
  ["empty lists", `[${"[],".repeat(HUGE / 3)}1]`],
  ["one text", JSON.stringify("x".repeat(HUGE))],
  ["a text without an end", `"${"\\".repeat(HUGE)}`],
  ["white space", " \n".repeat(HUGE / 2)],
  ["digits", "1".repeat(HUGE)],
  ["quotation marks", '"'.repeat(HUGE)],
];

test.each(TEXTS.flatMap(([kind, text]) => Object.entries(READERS).map(([name, run]) => ({ name, kind, text, run }))))(
  "$name ends with an answer for $kind, and leaves the next text to be read",
  async ({ text, run }) => {
    await expect(Promise.resolve(run(text, reader()))).resolves.not.toThrow();
    expect(await READERS.readJson(`[${" ".repeat(AT_ONCE)}1]`, reader())).toEqual({ ok: true, value: [1] });
  },
);

test("a text up to 64 KiB has its answer at once, and a larger one is read elsewhere", () => {
  expect(READERS.readJson("1".padStart(AT_ONCE), reader())).toEqual({ ok: true, value: 1 });
  expect(READERS.readJson("1".padStart(AT_ONCE + 1), reader())).toBeInstanceOf(Promise);
});

test("a long text is held while it is read, is given back once, and is refused if there is no room for it", async () => {
  let held = 0;
  const hold = (bytes: number) => {
    held += bytes;
    return () => void (held -= bytes);
  };
  const text = "é".repeat(AT_ONCE + 1);
  const read = READERS.readJson(text, reader({ hold }));
  expect(held).toBe(2 * text.length);
  expect(await read).toEqual({ ok: false, fault: "syntax" });
  expect(held).toBe(0);
  const full = throws("There is no room.");
  await expect(READERS.readPlainJson(text, reader({ hold: full }))).rejects.toThrow("There is no room.");
});

test("another tenant's text waits for one text of a tenant, however many that has sent", async () => {
  const stop = new AbortController();
  const attack = Array.from({ length: 40 }, () =>
    READERS.readPlainJson(`[${"[],".repeat(HUGE / 3)}1]`, reader({ tenant: "attacker", signal: stop.signal })),
  );
  let ended = 0;
  for (const one of attack) void one.then(() => (ended += 1));
  expect(await READERS.readJson(`[${" ".repeat(AT_ONCE)}1]`, reader())).toEqual({ ok: true, value: [1] });
  expect(ended).toBeLessThanOrEqual(1);
  stop.abort();
  await Promise.all(attack);
});

test("plain JSON is passed on as it was written, with its kind and its number of values, and nothing else is", async () => {
  const kinds: readonly (readonly [string, string, number])[] = [
    ['{"a": [1,\t2]}', "object", 4],
    ["[]", "array of 0", 2],
    ["[ \n]", "array of 0", 2],
    ["[[1,2],[]]", "array of 2", 5],
    ['"["', "string", 1],
    ["true", "boolean", 1],
    ["null", "null", 1],
    ["-1", "number", 1],
  ];
  for (const long of ["", " ".repeat(AT_ONCE)]) {
    for (const [text, type, values] of kinds) {
      const read = await READERS.readPlainJson(long + text, reader());
      expect(read).toMatchObject({ text: long + text, type, isStructure: /^[{[]/.test(text) });
      expect(read?.values).toBeGreaterThanOrEqual(values);
    }
    for (const other of ["", "[1", "[1]]", "a", "[1e999]", '{"__proto__":1}', "[".repeat(101) + "]".repeat(101)])
      expect(await READERS.readPlainJson(long + other, reader())).toBeUndefined();
  }
});

test("texts are the same if they are JSON of the same value, whichever way it is written", async () => {
  const same = (one: string, other: string) => areSame([[asUntrusted(one), asUntrusted(other)]], reader());
  for (const long of ["", " ".repeat(AT_ONCE)]) {
    expect(await same(`${long}{"a":1,"b":2}`, '{ "b": 2, "a": 1 }')).toBe(true);
    expect(await same(`${long}{"a":1}`, '{"a":2}')).toBe(false);
    expect(await same(`${long}{`, "{")).toBe(long === "");
    expect(await same(`${long}[1, 2]`, "[1,")).toBe(false);
  }
});

test("blocks repeat a structure if they are its JSON, its fields' or the elements' of one, in any writing of it", async () => {
  const escaped = (text: string) =>
    text.replaceAll(/"(?:[^"\\]|\\.)*"/g, (quoted) =>
      quoted.replaceAll(/\\u.{4}|\\.|[a-z]/g, (one) =>
        one.startsWith("\\") ? one : `\\u00${one.charCodeAt(0).toString(16)}`,
      ),
    );
  const value = fc.jsonValue().filter((one) => !JSON.stringify(one).includes("__proto__"));
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1 }), value, fc.nat(3), async (values, one, blanks) => {
      const structure = asUntrusted(JSON.stringify({ values, one }));
      const repeats = (...texts: unknown[]) =>
        room.repeats(
          structure,
          texts.map((text) => asUntrusted(escaped(JSON.stringify(text, null, blanks)))),
          reader(),
        );
      const others = [
        await repeats({ values, one }),
        await repeats(one),
        await repeats(...values),
        await repeats(values),
        await repeats({ one, values }),
      ];
      expect(others).toEqual([true, true, true, true, true]);
      expect(await repeats({ values, one, more: 1 })).toBe(false);
      expect(await repeats(...values, "an element more")).toBe(false);
    }),
    { numRuns: 25 },
  );
  const of = (block: string) => room.repeats(asUntrusted('{"a":"\\u0000"}'), [asUntrusted(block)], reader());
  expect([await of('{"a":"\\u0000"}'), await of('{"a":"\\uzzzz"}')]).toEqual([true, false]);
});

test("a message of more values is read without the first field that may have them, and is refused if it has none", async () => {
  const read = (text: string, values: number) => {
    const fields = [
      { path: ["a", "b"], values, isPlain: true },
      { path: ["a", "list"], values, isPlain: false },
    ];
    return room.readJsonMessage(
      asUntrusted(text),
      { fields, bounds: { depth: 9, values: 10 }, inPlace: '"!"' },
      reader(),
    );
  };
  const many = JSON.stringify(Array.from({ length: 20 }, () => 12345678901));
  const broken = `[${"1,".repeat(20)}x]`;
  for (const long of ["", " ".repeat(AT_ONCE)]) {
    expect(await read(`${long}{"a":{"b":[12345678901234567]}}`, 0)).toEqual({
      rest: `${long}{"a":{"b":["12345678901234567"]}}`,
    });
    expect(await read(`${long}{"id": 1,"a":{"b":[],"\\u0062":${many},"c":2}}`, 40)).toEqual({
      rest: '{"id": 1,"a":{"b":"!","c":2}}',
      cut: { field: 0, part: expect.objectContaining({ text: many, type: "array of 20" }) },
    });
    expect(await read(`${long}{"a":{"list":${broken}}}`, 40)).toEqual({
      rest: '{"a":{"list":"!"}}',
      cut: { field: 1, part: asUntrusted(broken) },
    });
    expect(await read(`${long}{"a":{"b":${many}}}`, 9)).toBe("values");
    expect(await read(`${long}{"a":{"c":${many}}}`, 40)).toBe("values");
    expect(await read(`${long}{"a":{"b":${broken}}}`, 40)).toBe("syntax");
  }
});
