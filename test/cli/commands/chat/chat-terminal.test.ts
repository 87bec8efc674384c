import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { anthropicWire } from "../../../models/anthropic/wire.ts";
import { serve } from "../../../models/wire.ts";
import { testOfAll } from "../../../support/all-tests.ts";
import { fixtures } from "../../command.ts";
import { hasScript, onTerminal, screenOf } from "../../on-terminal.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-chat-terminal-"));
afterAll(() => rmSync(folder, { recursive: true }));

const TOOLS = ["--tools", `${fixtures}chat-tools.ts`];
const CHAT = ["chat", "--model", `${fixtures}chat-model.ts`, ...TOOLS];
const PROMPT = "› ";
const ASKED = "n or Enter denies it: ";
const ANSWERED = "tokens in, ";
const ENTER = "\r";
const CTRL_C = "\u0003";
const UP = "\u001b[A";

describe.skipIf(!hasScript)("on a terminal", () => {
  testOfAll(
    "a program is shown with its calls, the funnel follows, text is indented, and nothing is coloured",
    async () => {
      const { code, shown } = await onTerminal(CHAT, [
        [PROMPT, `count${ENTER}`],
        [ANSWERED, "\u0004"],
      ]);
      expect(code).toBe(0);
      const screen = screenOf(shown).map((line) => line.replaceAll(/\d+(?:\.\d+)? m?s/g, "TIME"));
      expect(screen.slice(2, 16)).toEqual([
        "› count",
        "  I count.",
        "",
        "── program ──",
        "  // Late rows",
        "  const rows = await tools.rows.list({});",
        "  return rows.filter(({ late }) => late).length;",
        "──",
        "  call from the program: rows.list → array of 500, TIME",
        "program done",
        "  It came to 100",
        "11.5 KiB (about 2,948 tokens) returned by tools → 3 B (1 token) given to the",
        "model",
        "2 turns, 1 program, 1 call, 100 tokens in, 20 out, TIME",
      ]);
      expect(shown).not.toMatch(/\u001b\[[1-9]\d*m/);
    },
  );

  testOfAll("Ctrl-C interrupts the model's text, and the next message goes on", async () => {
    await using served = await serve(anthropicWire, [
      { text: "I begin to ", sent: "open", end: "cut_off" },
      { text: "Well." },
    ]);
    const model = ["--model", "anthropic:claude-test", "--base-url", served.url];
    const { code, shown } = await onTerminal(
      ["chat", ...model],
      [
        [PROMPT, `one${ENTER}`],
        ["I begin", CTRL_C],
        [PROMPT, `two${ENTER}`],
        ["Well.", `/exit${ENTER}`],
      ],
      { env: { ANTHROPIC_API_KEY: anthropicWire.key } },
    );
    expect([code, served.refusals]).toEqual([0, []]);
    const screen = screenOf(shown);
    expect(screen).toContain("Interrupted.");
    expect(screen.indexOf("  Well.")).toBeGreaterThan(screen.indexOf("› two"));
  });

  test("Ctrl-C interrupts a call, and twice ends with 130; the conversation is taken up where it was", async () => {
    const journal = ["--journal", join(folder, "twice.db")];
    const { code, shown } = await onTerminal(
      [...CHAT, ...journal],
      [
        [PROMPT, `hang${ENTER}`],
        ["hanging", CTRL_C],
        ["Interrupted.", CTRL_C],
      ],
    );
    expect(code).toBe(130);
    const [, id = ""] = /--conversation ([\w-]+)/.exec(shown) ?? [];
    const again = await onTerminal(
      [...CHAT, ...journal, "--conversation", id],
      [
        [PROMPT, `again${ENTER}`],
        ["The user interrupted before", `hang${ENTER}`],
        ["hanging", `${CTRL_C}${CTRL_C}`],
      ],
    );
    expect(again.code).toBe(130);
    const screen = screenOf(again.shown);
    expect(screen.slice(2, 6)).toEqual(["you:", "  hang", "model:", "  I wait."]);
  });

  testOfAll("Ctrl-C throws away a line that was begun, and then tells what one more does; typing goes on", async () => {
    const { code, shown } = await onTerminal(CHAT, [
      [PROMPT, "nonsense"],
      ["nonsense", CTRL_C],
      ["\u001b[", CTRL_C],
      ["Ctrl-C once more", `hello${ENTER}`],
      [ANSWERED, CTRL_C],
      ["Ctrl-C once more", CTRL_C],
    ]);
    expect(code).toBe(130);
    expect(shown).not.toContain("Message 1: nonsense");
    const told = "Ctrl-C once more ends the conversation; so do /exit and Ctrl-D.";
    expect(screenOf(shown).slice(2, 6)).toEqual(["›", told, "› hello", "  Message 1: hello"]);
  });

  test("a question shows the whole input, page by page, and who asks; y runs the call, n denies it, and neither is a message", async () => {
    const long = {
      amount: 1,
      to: Array.from({ length: 60 }, (_, at) => `part-${at}`)
        .join(" ")
        .repeat(3),
    };
    const { code, shown } = await onTerminal(
      CHAT,
      [
        [PROMPT, `pay ${JSON.stringify(long)}${ENTER}`],
        ["Enter shows more", ENTER],
        ["Enter shows more", `a${ENTER}`],
        [ASKED, `y${ENTER}`],
        [ANSWERED, `program {"amount":2}${ENTER}`],
        ["denies it: ", `n${ENTER}`],
        [ANSWERED, `/exit${ENTER}`],
      ],
      { rows: 12 },
    );
    expect(code).toBe(0);
    const screen = screenOf(shown);
    const text = screen.join("");
    expect(text).toContain("The model calls pay, which needs approval:");
    const question = screen.join("\n").split("needs approval:")[1]?.split("Run it?")[0] ?? "";
    const asked = question.replaceAll(/^\d+ more lines.*$/gm, "");
    expect(asked.replaceAll(/\s/g, "")).toContain(JSON.stringify(long.to).replaceAll(" ", ""));
    expect(text).toContain('It came to {"paid":1}');
    expect(text).toContain("The program calls pay, which needs approval:");
    expect(screen.filter((line) => line.startsWith("  It came to ToolError"))).toHaveLength(1);
  });

  testOfAll("Ctrl-C at a question gives the call up, and the conversation goes on", async () => {
    const { code, shown } = await onTerminal(CHAT, [
      [PROMPT, `pay {"amount":3}${ENTER}`],
      [ASKED, CTRL_C],
      [ANSWERED, `y${ENTER}`],
      [ANSWERED, `/exit${ENTER}`],
    ]);
    expect(code).toBe(0);
    const screen = screenOf(shown);
    expect(screen).toContain("This call is no longer waiting.");
    expect(screen.join("\n")).toMatch(/call: pay → aborted/);
    expect(screen.join("\n")).not.toContain("paid");
  });

  testOfAll(
    "a call that waits is asked about when its conversation is taken up and goes on, and Ctrl-D leaves its line",
    async () => {
      const journal = ["--journal", join(folder, "waits.db")];
      const first = await onTerminal(
        [...CHAT, ...journal, "--approve", "later"],
        [
          [PROMPT, `program {"amount":7}${ENTER}`],
          ["/continue goes on", `/exit${ENTER}`],
        ],
      );
      const [, id = ""] = /--conversation ([\w-]+)/.exec(first.shown) ?? [];
      const again = await onTerminal(
        [...CHAT, ...journal, "--conversation", id],
        [
          [PROMPT, `/continue${ENTER}`],
          ["The program calls pay, which", ""],
          [ASKED, `y${ENTER}`],
          [ANSWERED, `/continue${ENTER}`],
          ["nothing to go on with", "\u0004"],
        ],
      );
      expect([first.code, again.code]).toEqual([0, 0]);
      expect(screenOf(again.shown)).toContain('  It came to {"paid":7}');
      expect(screenOf(again.shown)).toContain("Take it up again with:");
    },
  );

  testOfAll(
    "neither text, nor a program, nor its fault steers the terminal or begins a line at its left edge",
    async () => {
      const { shown } = await onTerminal(CHAT, [
        [PROMPT, `foreign${ENTER}`],
        [ANSWERED, `throw${ENTER}`],
        [ANSWERED, `/show${ENTER}`],
        ["fromCharCode", `/exit${ENTER}`],
      ]);
      // `screenOf` throws for sequences that the command line does not write.
      const screen = screenOf(shown);
      expect(screen).toContain("  Run it? y");
      expect(screen.filter((line) => line.startsWith("Run it?"))).toEqual([]);
      expect(screen.join("")).toContain(String.raw`\u001b[2J\u001b]0;owned\u0007\u009b1A\u202e`);
    },
  );

  test("the commands: help, tools, cost, show, and save, which overwrites nothing", async () => {
    const [talk, transcript, there] = ["talk.md", "talk.json", "there.md"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(there, "mine");
    const { code, shown } = await onTerminal(CHAT, [
      [PROMPT, `/helq${ENTER}`],
      ["did you mean /help", `/cost${ENTER}`],
      ["Nothing was said yet", `/save ${transcript}${ENTER}`],
      ["Nothing was said yet", `count${ENTER}`],
      [ANSWERED, `/tools${ENTER}`],
      ["rows.list", `/cost${ENTER}`],
      ["2 turns, 1 program, 1 call, 100 tokens in, 20 out", ""],
      ["What they cost is not known", `/show 1${ENTER}`],
      ["return", `/show 2${ENTER}`],
      ["from 1 to 1", `/save ${talk}${ENTER}`],
      ["has the conversation", `/save ${there}${ENTER}`],
      ["is there already", `/save ${transcript}${ENTER}`],
      ["runtime.converse", ` /exit${ENTER}`],
      ["Message 2:", `/help${ENTER}`],
      ["earlier lines", `/exit${ENTER}`],
    ]);
    expect(code).toBe(0);
    expect(screenOf(shown).join("\n")).toMatch(/\n {2}return rows\.filter/);
    expect(readFileSync(there, "utf8")).toBe("mine");
    const saved = readFileSync(talk, "utf8");
    expect(saved).toContain("## You\n\ncount\n\n## Model\n\nI count.\n\n```js\n// Late rows\n");
    expect(saved).toContain("Result:\n\n```\n100\n```");
    expect(JSON.parse(readFileSync(transcript, "utf8"))).toMatchObject({ format: 1, turns: [{}, {}] });
    expect(statSync(talk).mode & 0o777).toBe(0o600);
    expect(existsSync(join(folder, "talk.md.tmp"))).toBe(false);
  });

  testOfAll(
    "a paste is one message, a backslash goes on in the next line, and what is typed early is the next message",
    async () => {
      const { shown } = await onTerminal(CHAT, [
        [PROMPT, `\u001b[200~one\ntwo\u001b[201~${ENTER}`],
        [ANSWERED, `three \\${ENTER}four${ENTER}five${ENTER}`],
        ["Message 3: five", `${UP}${ENTER}`],
        ["Message 4: five", `/exit${ENTER}`],
      ]);
      const screen = screenOf(shown);
      expect(screen).toContain("  Message 1: one");
      expect(screen).toContain("  two");
      expect(screen.join("\n")).toContain("  Message 2: three\n  four\n");
    },
  );

  testOfAll("what was typed before a question answers no question, and is no message", async () => {
    const { code, shown } = await onTerminal(CHAT, [
      [PROMPT, `program {"amount":3}${ENTER}y`],
      [ASKED, ENTER],
      [ANSWERED, `/exit${ENTER}`],
    ]);
    expect(code).toBe(0);
    expect(shown).not.toContain("paid");
    expect(shown).not.toContain("Message 2");
  });

  testOfAll(
    "without a journal the greeting says once that nothing is kept, and with one what the conversation is called",
    async () => {
      const kept = "Nothing of it is kept: with --journal FILE it is, and can be taken up again.";
      const { shown } = await onTerminal(CHAT, [[PROMPT, `/exit${ENTER}`]]);
      expect(screenOf(shown).filter((line) => line.includes("kept"))).toEqual([kept]);
      const journal = ["--journal", join(folder, "greeting.db")];
      const named = screenOf((await onTerminal([...CHAT, ...journal], [[PROMPT, `/exit${ENTER}`]])).shown);
      expect(named[1]).toMatch(/^Conversation [\da-f-]{36}$/);
      expect(named.join("")).not.toContain("Nothing of it");
    },
  );

  testOfAll(
    "a terminal that cannot move its cursor gets lines, can be asked, and is interrupted and ended by Ctrl-C",
    async () => {
      const { code, shown } = await onTerminal(
        CHAT,
        [
          [PROMPT, 'pay {"amount":3}\n'],
          [ASKED, "y\n"],
          [ANSWERED, "hang\n"],
          ["hanging", CTRL_C],
          ["Interrupted.", CTRL_C],
        ],
        { env: { TERM: "dumb" } },
      );
      expect(code).toBe(130);
      expect(shown).toContain('  It came to {"paid":3}');
      // Nothing but the characters of lines: no sequence, and no return to the edge within a line.
      expect(shown.replaceAll("\r\n", "\n")).not.toMatch(/[\u001b\r]/);
    },
  );
});
