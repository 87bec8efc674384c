import * as fc from "fast-check";
import { expect, test } from "vitest";
import { LiveRegion } from "../../../../src/cli/terminal/chat/live-region.ts";
import { screenOf } from "../../on-terminal.ts";

function terminal(rows = 10) {
  let written = "before\r\n";
  const stream = { columns: 80, rows, write: (text: string) => (written += text.replaceAll("\n", "\r\n")) };
  return { region: new LiveRegion(stream), stream, screen: () => screenOf(written) };
}

test("lines take the place of those before them, and leave what stands above alone", () => {
  const drawings = fc.array(
    fc.array(fc.constantFrom("", "a", "日本", "\u001b[1mbold\u001b[22m", "x".repeat(79)), { maxLength: 9 }),
  );
  fc.assert(
    fc.property(
      drawings,
      fc.array(fc.string({ unit: fc.constantFrom("p", "q") }), { maxLength: 9, minLength: 1 }),
      (all, last) => {
        const { region, screen } = terminal();
        for (const lines of all) region.draw(lines);
        region.draw(last);
        expect(screen()).toEqual(["before", ...last]);
        region.clear();
        expect(screen()).toEqual(["before", ""]);
      },
    ),
  );
});

test("no more lines are drawn than can be taken away again, the last ones", () => {
  const { region, screen } = terminal(5);
  region.draw(Array.from({ length: 20 }, (_, at) => `line ${at}`));
  expect(screen()).toEqual(["before", "line 16", "line 17", "line 18", "line 19"]);
});

test("a terminal that has become narrower has broken the lines, and all of their rows are taken away", () => {
  const { region, stream } = terminal();
  region.draw(["x".repeat(70), "y"]);
  let erased = "";
  Object.assign(stream, { columns: 40, write: (text: string) => (erased += text) });
  region.clear();
  expect(erased).toBe("\r\u001b[2A\u001b[J");
});
