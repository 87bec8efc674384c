import { parse } from "acorn";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { asFunction, bodyOf, placeInBody, placeOf } from "../../../../src/programs/prepare/thread/function-body.ts";

const codes = fc.string({
  unit: fc.constantFrom("a", " ", "\n", "\r\n", "}", "{", "//", "/*", "`", "ü", "😀"),
  maxLength: 40,
});

test("a program is the body of one async function, in which `await` and `return` may stand", () => {
  const { body } = parse(asFunction("const a = await b;\nreturn a"), { ecmaVersion: "latest", sourceType: "script" });
  expect(body).toMatchObject([
    { type: "FunctionDeclaration", async: true, generator: false, body: { body: [{}, {}] } },
  ]);
});

test("the code inside the function is the given code, byte for byte", () => {
  fc.assert(
    fc.property(codes, (code) => {
      expect(bodyOf(asFunction(code))).toBe(code);
    }),
  );
});

test("a comment at the end of a program does not hide the end of the function", () => {
  for (const code of ["return 1 // end", "return 1 <!-- end"])
    expect(() => parse(asFunction(code), { ecmaVersion: "latest", sourceType: "script" })).not.toThrow();
});

test("the place of an offset is the line and column that it has in the code, from 1", () => {
  fc.assert(
    fc.property(codes, fc.nat(), (code, number) => {
      const offset = number % (code.length + 1);
      const { line, column } = placeOf(asFunction(code), asFunction("").indexOf("\n") + 1 + offset);
      const lines = code.split("\n");
      expect(lines.slice(0, line - 1).reduce((sum, before) => sum + before.length + 1, 0) + column - 1).toBe(offset);
      expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1);
    }),
  );
});

test.each([
  ["ab\ncd", 2, 0, 1, 1],
  ["ab\ncd", 2, 2, 1, 3],
  ["ab\ncd", 3, 1, 2, 2],
  ["ab\ncd", 4, 0, 2, 3],
  ["ab\ncd", 9, 9, 2, 3],
  ["ab\n", 3, 0, 2, 1],
  ["", 2, 0, 1, 1],
  ["", 3, 1, 1, 1],
])("in %j a parser's line %i, column %i is line %i, column %i of the source", (code, line, column, ...place) => {
  expect(placeInBody(code, { line, column })).toEqual({ line: place[0], column: place[1] });
});
