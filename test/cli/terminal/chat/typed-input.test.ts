import * as fc from "fast-check";
import { expect, test } from "vitest";
import { textOfLine, TypedInput } from "../../../../src/cli/terminal/chat/typed-input.ts";

function typed() {
  let interrupts = 0;
  const input = new TypedInput(() => (interrupts += 1));
  const lines = () => {
    const all: string[] = [];
    for (let line = input.upToLine(); line !== ""; line = input.upToLine()) all.push(line);
    return all;
  };
  return { input, lines, interrupts: () => interrupts, type: (text: string) => input.take(Buffer.from(text)) };
}

test("lines are taken one by one, whichever key ends them", () => {
  const { type, lines } = typed();
  type("one\rtwo\nthree\r\nfour");
  expect(lines()).toEqual(["one\r", "two\n", "three\r", "four"]);
});

test("a paste of several lines is one line, however it is cut into chunks, and has its line breaks and tabs again", () => {
  const text = "\u001b[200~a\r\n\tb\u001b[1mc\u0003\nd\u001b[201~!\r";
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 2, max: text.length })), (cuts) => {
      const { input, lines, interrupts } = typed();
      const bytes = Buffer.from(text);
      const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      for (const [index, place] of places.entries()) input.take(bytes.subarray(place, places[index + 1]));
      const [line = "", ...more] = lines();
      expect([textOfLine(line.trim()), more, interrupts()]).toEqual(["a\n\tb[1mc\nd!", [], 0]);
    }),
  );
});

test("Ctrl-C discards what was typed before it, and is told of each time", () => {
  const { type, lines, interrupts } = typed();
  type("one\rtw\u0003\u0003three");
  expect([interrupts(), lines()]).toEqual([2, ["three"]]);
});

test("an escape key alone is a key, and what is kept is bounded", () => {
  const { type, lines } = typed();
  type("\u001b");
  expect(lines()).toEqual(["\u001b"]);
  for (let time = 0; time < 100; time += 1) type("x".repeat(10_000));
  expect(lines().join("").length).toBe(64 * 1024);
});
