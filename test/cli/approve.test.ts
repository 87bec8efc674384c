import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { anthropicWire } from "../models/anthropic/wire.ts";
import { serve } from "../models/wire.ts";
import { testOfAll } from "../support/all-tests.ts";
import { fixtures, portcullis } from "./command.ts";
import { hasScript, onTerminal } from "./on-terminal.ts";
import { newFolder } from "../support/new-folder.ts";

const folder = newFolder();

let programs = 0;
function scratch(program: string): string {
  const file = join(folder, `program-${(programs += 1)}.js`);
  writeFileSync(file, program);
  return file;
}

const TOOLS = ["--tools", `${fixtures}approval-tools.ts`];
const NO_TERMINAL =
  "portcullis: pay needs approval. There is no terminal to ask on, so its calls are denied. Start the command on a terminal, or with --approve all.\n";

const ASKED = "n or Enter denies it: ";

test("a program with a tool that needs approval starts; without a terminal the call is denied, with exit code 3", async () => {
  const { code, stdout, stderr } = await portcullis(["run", "-", ...TOOLS], "return tools.pay({ amount: 250 });");
  expect([code, stdout]).toEqual([3, expect.stringMatching(/pay .*denied/)]);
  expect(stderr).toContain(NO_TERMINAL);
});

test("--approve all runs the call, and --json still prints one document", async () => {
  const { code, stdout, stderr } = await portcullis(
    ["run", "-", ...TOOLS, "--approve", "all", "--json"],
    "return tools.pay({ amount: 250 });",
  );
  expect([code, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({ outcome: { value: { paid: 250 } } });
});

test("ask denies without a terminal, and the model gets a result for its call", async () => {
  await using served = await serve(anthropicWire, [
    { calls: [{ tool: "pay", input: { amount: 9 } }] },
    { text: "Denied." },
  ]);
  const options = ["--model", "anthropic:claude-test", "--base-url", served.url];
  const environment = { ANTHROPIC_API_KEY: anthropicWire.key };
  const { code, stdout, stderr } = await portcullis(["ask", "Pay.", ...TOOLS, ...options], "", { environment });
  expect([code, stdout]).toEqual([0, "Denied.\n"]);
  expect(stderr).toContain(NO_TERMINAL);
});

test.skipIf(!hasScript)("on a terminal a person allows one call and denies the next", async () => {
  const program = "return [await tools.pay({ amount: 1 }), await tools.pay({ amount: 2 }).catch(({ code }) => code)];";
  const file = scratch(program);
  const { code, shown } = await onTerminal(
    ["run", file, ...TOOLS],
    [
      [ASKED, "y\n"],
      [ASKED, "\n"],
    ],
  );
  expect(code).toBe(0);
  expect(shown).toContain('[{"paid":1},"approval_denied"]');
  // The line of progress is not written while a question is open.
  expect(shown).toMatch(
    /The program calls pay, which needs approval:\r\n {2}It changes something each time\. [^\r]+\r\n {2}\{"amount":1\}\r\nRun it\? y runs it, g 20 also up to 20 more, n or Enter denies it: y/,
  );
});

testOfAll.skipIf(!hasScript)("Ctrl-C at a question cancels the program", async () => {
  const { code, shown } = await onTerminal(
    ["run", scratch("return tools.pay({ amount: 1 });"), ...TOOLS],
    [[ASKED, "\u0003"]],
  );
  expect(code).toBe(130);
  expect(shown).toContain("This call is no longer waiting.");
});
