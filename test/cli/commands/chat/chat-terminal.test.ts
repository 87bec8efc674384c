import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { testOfAll } from "../../../support/all-tests.ts";
import { fixtures } from "../../command.ts";
import { hasScript, onTerminal, screenOf } from "../../on-terminal.ts";
import { newFolder } from "../../../support/new-folder.ts";

const folder = newFolder();

const TOOLS = ["--tools", `${fixtures}chat-tools.ts`];
const CHAT = ["chat", "--model", `${fixtures}chat-model.ts`, ...TOOLS];
const PROMPT = "› ";
const ASKED = "n or Enter denies it: ";
const ANSWERED = "tokens in, ";
const ENTER = "\r";
const CTRL_C = "\u0003";

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
        "11.5 KiB (about 2,948 tokens) returned by tools → 3 B (1 token) given to the mod",
        "el",
        "2 turns, 1 program, 1 call, 100 tokens in, 20 out",
      ]);
      expect(shown).not.toMatch(/\u001b\[[1-9]\d*m/);
    },
  );

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
    const [, id = ""] = /--id ([\w-]+)/.exec(shown) ?? [];
    const again = await onTerminal(
      [...CHAT, ...journal, "--id", id],
      [
        [PROMPT, `again${ENTER}`],
        ["The user interrupted before", `hang${ENTER}`],
        ["hanging", `${CTRL_C}${CTRL_C}`],
      ],
    );
    expect(again.code).toBe(130);
    const screen = screenOf(again.shown);
    expect(screen[2]).toBe("the user: hang");
    expect(screen[3]).toMatch(/^turn 1: called, .*: I wait\.$/);
  });

  testOfAll("a question shows who asks and the input; y runs the call, n denies it, neither is a message", async () => {
    const to = Array.from({ length: 300 }, (_, at) => `part-${at}`).join(" ");
    const { code, shown } = await onTerminal(CHAT, [
      [PROMPT, `pay ${JSON.stringify({ amount: 1, to })}${ENTER}`],
      ["v shows the whole input: ", `v${ENTER}`],
      ["v shows the whole input: ", `y${ENTER}`],
      [ANSWERED, `program {"amount":2}${ENTER}`],
      [ASKED, `n${ENTER}`],
      [ANSWERED, `/exit${ENTER}`],
    ]);
    expect(code).toBe(0);
    const screen = screenOf(shown);
    const text = screen.join("\n");
    expect(text).toContain("The model calls pay, which needs approval:");
    expect(text.replaceAll(/\s/g, "")).toContain(JSON.stringify(to).replaceAll(" ", ""));
    expect(text).toContain('It came to {"paid":1}');
    expect(text).toContain("The program calls pay, which needs approval:");
    expect(screen.filter((line) => line.startsWith("  It came to ToolError"))).toHaveLength(1);
  });

  testOfAll("a paste is one message, and what is typed early is the next message", async () => {
    const { shown } = await onTerminal(CHAT, [
      [PROMPT, `\u001b[200~one\ntwo\u001b[201~${ENTER}`],
      [ANSWERED, `three${ENTER}four${ENTER}`],
      ["Message 3: four", `/exit${ENTER}`],
    ]);
    const screen = screenOf(shown);
    expect(screen).toContain("  Message 1: one");
    expect(screen).toContain("  two");
    expect(screen).toContain("  Message 2: three");
  });

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
