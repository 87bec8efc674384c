import { array, assert, asyncProperty, constantFrom, dictionary, oneof, record, string } from "fast-check";
import { expect, test } from "vitest";
import { PortcullisError } from "../../../src/index.ts";
import { OpenApiDocument } from "../../../src/sources/openapi/document.ts";
import { readOperation, findOperations } from "../../../src/sources/openapi/operations.ts";
import { loadStyles, pathParts, requestParts } from "../../../src/sources/openapi/request.ts";
import { Schemas } from "../../../src/sources/openapi/schemas.ts";
import { toolInput } from "../../../src/sources/openapi/tool-input.ts";
import { operationOf } from "./api-server.ts";
import { runs } from "../../support/all-tests.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { failing } from "../../support/failing.ts";

const text = () =>
  oneof(
    string({ unit: anyCharacter }),
    string({
      unit: constantFrom(..."/ \\\\ . % 2e @ : ? # & = ; ． { } [ ] a".split(" "), "\r\n", "\u0000"),
    }),
    constantFrom("..", "//evil.example", "@evil.example", "__proto__", "constructor"),
  );
const value = () => oneof(text(), array(text()), dictionary(text(), text(), { noNullPrototype: true }));

test("whatever a program passes, a request goes to its host and its path, and each parameter keeps what it got", async () => {
  await loadStyles();
  const places = [
    { name: "a", in: "path", style: "simple", schema: {} },
    { name: "b", in: "path", style: "matrix", explode: true, schema: {} },
    { name: "q", in: "query", schema: {} },
    { name: "d", in: "query", style: "deepObject", schema: {} },
    { name: "r", in: "query", allowReserved: true, schema: {} },
  ];
  const path = "/one/{a}/two/{b}/three";
  const document = new OpenApiDocument(operationOf({ parameters: places }, path) as Record<string, unknown>, false);
  const [operation = expect.fail()] = (await findOperations(document, "api")).operations;
  const { parameters } = readOperation(document, operation);
  const input = toolInput(new Schemas(document, "input"), parameters, undefined, "flat");
  await assert(
    asyncProperty(record({ a: text(), b: value(), q: text(), d: value(), r: text() }), async (given) => {
      let parts;
      try {
        parts = requestParts({ path: pathParts(path), query: [] }, input, given);
      } catch (error) {
        expect(error).toMatchObject(failing("tool_failed", /^[ab] must not /));
        expect(PortcullisError.is(error)).toBe(true);
        return;
      }
      const url = new URL(`https://api.example.com/base${parts.path}?${parts.query}`);
      expect([url.origin, url.hash, url.username]).toEqual(["https://api.example.com", "", ""]);
      const segments = url.pathname.split("/");
      expect([segments.length, segments[1], segments[2], segments[4], segments[6]]).toEqual([
        7,
        "base",
        "one",
        "two",
        "three",
      ]);
      expect(decodeURIComponent(segments[3] ?? "")).toBe(given.a.toWellFormed());
      expect(url.searchParams.getAll("q")).toEqual([given.q.toWellFormed()]);
      expect(url.searchParams.getAll("r")).toEqual([given.r.toWellFormed()]);
      for (const name of url.searchParams.keys())
        expect(name === "q" || name === "r" || /^d(?:\[|$)/.test(name)).toBe(true);
    }),
    { numRuns: runs(2000) },
  );
});
