import { afterEach, describe, expect, test, vi } from "vitest";
import { ROUTES } from "../../src/serve/api/routes.ts";
import { ALL_TESTS } from "../support/all-tests.ts";
import { KEYS, keyOf, openServer } from "./servers.ts";

const LONGEST_PARSED = 1000;
const fields = (count: number) => Array.from({ length: count }, (_, n) => `"f${n}":1`).join(",");
const nested = (levels: number, open: string, close: string) => `${open.repeat(levels)}1${close.repeat(levels)}`;

const HOSTILE = [
  ["lists in lists", nested(500_000, "[", "]"), 400, "nested at most 108 levels deep"],
  [
    "a schema in a schema",
    `{"program":"return 1","result":${nested(30_000, '{"items":', "}")}}`,
    400,
    "nested at most",
  ],
  ["brackets that are never closed", "[".repeat(1_000_000), 400, "nested at most"],
  ["empty lists", `[${"[],".repeat(1_000_000)}[]]`, 413, "at most 65536 values"],
  ["numbers", `{"program":[${"1,".repeat(2_000_000)}1]}`, 413, "at most 65536 values"],
  ["fields of one record", `{"params":{"_meta":{${fields(200_000)}}}}`, 413, "at most 65536 values"],
  ["records", `{"results":[${'{"a":1},'.repeat(100_000)}1]}`, 413, "at most 65536 values"],
] as const;

const PATHS = ["/mcp", ...ROUTES.filter(({ method }) => method === "POST").map(({ path }) => path.replace(":id", "x"))];

afterEach(() => vi.restoreAllMocks());

/** Each body at one path of each door, and one body at each path; `make test-all` has all of them at all paths. */
const triedAt = (path: string) =>
  ALL_TESTS || ["/mcp", "/v1/executions"].includes(path) ? HOSTILE : HOSTILE.slice(0, 1);

describe.each(PATHS)("a body of %s", (path) => {
  test.each(["gzip", "BR", "identity, deflate", "x".repeat(9000)])(
    "in the coding %.20s is refused by the coding",
    async (coding) => {
      await using door = await openServer({ keys: KEYS });
      const answer = await door.ask("POST", path, {
        key: keyOf("con"),
        body: "\u001f\u008b",
        headers: { accept: "application/json, text/event-stream", "content-encoding": coding },
      });
      expect([answer.status, answer.text]).toEqual([
        415,
        expect.stringContaining(JSON.stringify(JSON.stringify(coding.toLowerCase().slice(0, 40))).slice(1, -1)),
      ]);
      expect(answer.text.length).toBeLessThan(300);
    },
  );

  test.each(triedAt(path))(
    "that is made of %s is refused before it is parsed, and told the bound",
    async (_, body, status, said) => {
      await using door = await openServer({ keys: KEYS });
      const parse = vi.spyOn(JSON, "parse");
      const answer = await door.ask("POST", path, {
        key: keyOf("con"),
        body,
        headers: { accept: "application/json, text/event-stream" },
      });
      const longest = Math.max(0, ...parse.mock.calls.map(([text]) => text.length));
      expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(said)]);
      expect(longest).toBeLessThan(LONGEST_PARSED);
    },
  );
});

const call = (args: string, more = "") =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_program","arguments":${args}${more}}}`;

test.each([
  ["fields of arguments", call(`{${fields(10_001)}}`), "at most 10000 fields"],
  ["fields beside the arguments", call("{}", `,"_meta":{${fields(2000)}}`), "at most 2000 values beside"],
  ["fields beside the parameters", `{"jsonrpc":"2.0","id":1,"method":"ping",${fields(2000)}}`, "at most 2000 values"],
  [
    "an answer's values",
    `{"jsonrpc":"2.0","id":1,"result":{"content":[${"[],".repeat(2000)}1]}}`,
    "at most 2000 values",
  ],
])("of a message, what the protocol's package checks again and again is bounded: %s", async (_, body, said) => {
  await using door = await openServer({ keys: KEYS });
  const answer = await door.ask("POST", "/mcp", { body, headers: { accept: "application/json, text/event-stream" } });
  expect([answer.status, answer.text]).toEqual([413, expect.stringContaining(said)]);
});

test("arguments may have as many values as a message, below their own fields", async () => {
  await using door = await openServer({ keys: KEYS });
  const body = call(`{"code":"return 1","more":[${"[],".repeat(30_000)}1]}`);
  const answer = await door.ask("POST", "/mcp", { body, headers: { accept: "application/json, text/event-stream" } });
  expect(answer.status).toBe(200);
});
