import { expect, test } from "vitest";
import { isReadAs, streamFormOf } from "../../../../src/sources/openapi/streams/stream-form.ts";

test.each<readonly [string, string | undefined]>([
  ["application/x-ndjson", "lines"],
  ["application/ndjson", "lines"],
  ["Application/JSONL; charset=utf-8", "lines"],
  ["application/x-jsonlines", "lines"],
  ["application/json-lines", "lines"],
  ["text/x-ndjson", "lines"],
  ["application/json-seq", "sequence"],
  ["application/geo+json-seq", "sequence"],
  ["text/event-stream;charset=utf-8", "events"],
  ["application/json", undefined],
  ["application/json; stream=true", undefined],
  ["application/vnd.api+json", undefined],
  ["text/plain", undefined],
  ["*/*", undefined],
  ["", undefined],
])("%j is read as %s", (mediaType, form) => {
  expect(streamFormOf(mediaType)).toBe(form);
});

test("an answer of lines may be called JSON, text or bytes, and one of events nothing else", () => {
  for (const vague of ["application/json", "text/plain; charset=utf-8", "application/octet-stream"])
    expect([isReadAs("lines", vague), isReadAs("sequence", vague), isReadAs("events", vague)]).toEqual([
      true,
      true,
      false,
    ]);
  for (const form of ["lines", "sequence", "events"] as const) {
    expect(isReadAs(form, null)).toBe(true);
    expect(isReadAs(form, "text/html")).toBe(false);
  }
  expect([isReadAs("events", "Text/Event-Stream"), isReadAs("lines", "text/event-stream")]).toEqual([true, false]);
});
