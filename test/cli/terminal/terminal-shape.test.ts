import { expect, test } from "vitest";
import { movesCursor, plainText, shapeOf } from "../../../src/cli/terminal/terminal-shape.ts";

const terminal = { isTTY: true, columns: 100 };

test("a terminal has its width, and other output has any", () => {
  expect(shapeOf(terminal, { LANG: "C.UTF-8" })).toEqual({ columns: 100, isPlain: false });
  expect(shapeOf({ ...terminal, isTTY: false }, {}).columns).toBeUndefined();
  expect(shapeOf({ ...terminal, columns: 0 }, {}).columns).toBeUndefined();
});

test.skipIf(process.platform === "win32").each([
  [{ LANG: "en_GB.UTF-8" }, false],
  [{ LANG: "en_GB.UTF-8", LC_ALL: "C" }, true],
  [{ LC_CTYPE: "de_DE.utf8" }, false],
  [{ LANG: "en_GB.UTF-8", TERM: "linux" }, true],
  [{ LANG: "en_GB.ISO-8859-1" }, true],
  [{}, true],
])("the locale %j decides whether characters are plain: %s", (env, isPlain) => {
  expect(shapeOf(terminal, env).isPlain).toBe(isPlain);
});

test("what is drawn has plain characters in as many cells", () => {
  const drawn = "─╌┬█▓░▏▁▂▃▄▅▆▇≈…×→";
  expect(plainText(drawn)).toMatch(/^[ -~]+$/);
  expect(plainText(drawn)).toHaveLength(drawn.length);
  expect(plainText("Ünïcode")).toBe("Ünïcode");
});

test("the cursor of a terminal can be moved, unless TERM says that it cannot", () => {
  expect([{}, { TERM: "xterm" }, { TERM: "dumb" }].map((env) => movesCursor(terminal, env))).toEqual([
    true,
    true,
    false,
  ]);
  expect(movesCursor({ isTTY: false }, { TERM: "xterm" })).toBe(false);
});
