import * as fc from "fast-check";
import { expect, test } from "vitest";
import { answerText, frameText, type GuestFrame, type HostFrame, splitFrame } from "../../bridge/frames.ts";
import { anyCharacter } from "../support/any-character.ts";

const LIMITS = { calls: 1, logBytes: 256, printedBytes: 256, frameBytes: 65_536 };

test.each<[string, HostFrame | GuestFrame, string]>([
  ["a header alone", { kind: "fire", now: 5, id: 2 }, '{"kind":"fire","now":5,"id":2}'],
  [
    "a header and its body",
    { kind: "call", id: 1, tool: "a.b", body: "[1]" },
    '{"kind":"call","id":1,"tool":"a.b"}\n[1]',
  ],
  ["an empty body", { kind: "call", id: 1, tool: "a", body: "" }, '{"kind":"call","id":1,"tool":"a"}\n'],
  ["no body where there is none", { kind: "settled", ok: true, notes: [] }, '{"kind":"settled","ok":true,"notes":[]}'],
  [
    "the fields in the order they are given",
    { kind: "start", protocol: 1, now: 0, seed: "0".repeat(32), limits: LIMITS, body: "{}" },
    `{"kind":"start","protocol":1,"now":0,"seed":"${"0".repeat(32)}","limits":{"calls":1,"logBytes":256,"printedBytes":256,"frameBytes":65536}}\n{}`,
  ],
])("a frame's text is %s", (_, frame, text) => {
  expect(frameText(frame)).toBe(text);
});

test("an answer put together by hand is the text that any other frame would have", () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.boolean(), fc.json(), (now, id, ok, body) => {
      expect(answerText(now, id, ok, body)).toBe(frameText({ kind: "answer", now, id, ok, body }));
    }),
  );
});

test("a frame's text is split at its first line break, whatever the header and the body hold", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.option(fc.string({ unit: anyCharacter })), (note, body) => {
      const frame: GuestFrame = { kind: "settled", ok: true, notes: [note], ...(body === null ? {} : { body }) };
      const split = splitFrame(frameText(frame));
      expect(JSON.parse(split.header)).toEqual({ kind: "settled", ok: true, notes: [note] });
      expect(split.body).toBe(body ?? undefined);
    }),
  );
});

test.each([
  ["", { header: "", body: undefined }],
  ["\n", { header: "", body: "" }],
  ["{}\n", { header: "{}", body: "" }],
  ["{}\n1\n2", { header: "{}", body: "1\n2" }],
])("the text %j is split into its two parts", (text, parts) => {
  expect(splitFrame(text)).toEqual(parts);
});
