import { beforeEach, expect, test, vi } from "vitest";
import { showBar } from "../../../../src/cli/terminal/executions/progress.ts";

beforeEach(() => {
  vi.stubEnv("LC_ALL", "C.UTF-8");
  vi.stubEnv("TERM", "xterm");
});

function stream(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  const fake = { isTTY, columns, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
  return { written, stream: fake };
}

test("on a terminal one line shows tasks and modes, and is removed at the end", () => {
  const { written, stream: terminal } = stream(true);
  const bar = showBar(terminal, 4);
  bar.step("flights: programmatic");
  bar.step("flights: direct-unlimited");
  bar.end();
  expect(written).toEqual([
    `\r\u001b[2K${"█".repeat(6)}${"░".repeat(18)} 1/4 flights: programmatic`,
    `\r\u001b[2K${"█".repeat(12)}${"░".repeat(12)} 2/4 flights: direct-unlimited`,
    "\r\u001b[2K",
  ]);
});

test("on a narrow terminal the bar stays in one line, and never counts more steps than there are", () => {
  const { written, stream: terminal } = stream(true, 40);
  const bar = showBar(terminal, 1);
  bar.step("a task with a long name: programmatic");
  bar.step("one more");
  expect(written[0]?.length).toBe("\r\u001b[2K".length + 39);
  expect(written[1]).toContain("1/1 one more");
});

test("without a terminal nothing is shown", () => {
  const { written, stream: file } = stream(false);
  const bar = showBar(file, 3);
  for (const what of ["flights: programmatic", "flights: anthropic", "movies: programmatic"]) bar.step(what);
  bar.end();
  expect(written).toEqual([]);
});

test("a terminal without UTF-8 gets plain characters", () => {
  vi.stubEnv("LC_ALL", "C");
  const { written, stream: terminal } = stream(true);
  const bar = showBar(terminal, 2);
  bar.step("flights: programmatic");
  bar.end();
  expect(written[0]).toBe(`\r\u001b[2K${"#".repeat(12)}${".".repeat(12)} 1/2 flights: programmatic`);
});
