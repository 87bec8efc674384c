import { join } from "node:path";
import { expect, test } from "vitest";
import { loadCommand } from "../../../src/conversations/files/index.ts";
import { folderWith } from "./files.ts";

const load = (text: string, args?: string | readonly string[]) =>
  loadCommand(join(folderWith({ "fix-issue.md": text }), "fix-issue.md"), args);

test("the arguments are filled into the text", async () => {
  const text =
    "---\ndescription: Fixes an issue\ntools: files.*, pay\nmodel: anthropic:NAME\n---\nFix $1 in $2: $ARGUMENTS.\n";
  expect(await load(text, " 123   main now ")).toEqual({
    name: "fix-issue",
    description: "Fixes an issue",
    tools: ["files.*", "pay"],
    model: "anthropic:NAME",
    task: "Fix 123 in main: 123   main now.",
  });
  expect(await load("Fix $2 and $1.", ["a b", "c"])).toEqual({ name: "fix-issue", task: "Fix c and a b." });
  expect(await load("---\nname: other\n---\nDo it.")).toEqual({ name: "other", task: "Do it." });
});

test("what is filled in is not filled again", async () => {
  expect((await load("$1 | $ARGUMENTS | $2", ["$2 $ARGUMENTS", "$1 $& $$"])).task).toBe(
    "$2 $ARGUMENTS | $2 $ARGUMENTS $1 $& $$ | $1 $& $$",
  );
});

test("other dollars stand for themselves, and numbers have two digits at most", async () => {
  const args = Array.from({ length: 12 }, (_, index) => `a${index + 1}`);
  const all = args.map((_, index) => `$${index + 1}`).join(" ");
  expect((await load(`${all} $0 $ $x $ARGUMENTSX costs $ 5, \${1}`, args)).task).toBe(
    `${args.join(" ")} $0 $ $x $ARGUMENTSX costs $ 5, \${1}`,
  );
});

test("a text that names its arguments in many places is refused where it becomes too long", async () => {
  const args = "x".repeat(1_000_000);
  await expect(load("\n$ARGUMENTS $1\n$1", args)).rejects.toThrow(
    "fix-issue.md:3: filled in here, the text has more than 2097152 characters.",
  );
  await expect(load("$ARGUMENTS ".repeat(20_000), args)).rejects.toThrow("fix-issue.md:1: filled in here");
});

test("a number beyond the arguments is a price, unless the text has all places before it, and a backslash makes any a text", async () => {
  expect((await load("Refund $5.")).task).toBe("Refund $5.");
  expect((await load("Refund $5 of $1, not \\$1 or \\$ARGUMENTS.", "order")).task).toBe(
    "Refund $5 of order, not $1 or $ARGUMENTS.",
  );
  expect((await load("$5 $4 $3 $2 $1", "a b c d e")).task).toBe("e d c b a");
  await expect(load("Refund $2 of $1.", "order")).rejects.toThrow("$2 has no argument: 1 was given.");
});

test("files of other packages say which tools a command has, and which arguments", async () => {
  const text = "---\nallowed-tools: read_file, crm.*\nargument-hint: [issue] [priority]\n---\nFix $1.";
  expect(await load(text, "7")).toEqual({
    name: "fix-issue",
    argumentHint: "[issue] [priority]",
    tools: ["read_file", "crm.*"],
    task: "Fix 7.",
  });
  expect(await load("---\nargument-hint: <issue> [--now]\n---\nDo.")).toMatchObject({
    argumentHint: "<issue> [--now]",
  });
  expect(await load("---\nargument-hint: 'an issue'\nallowed-tools:\n  - a\n---\nDo.")).toMatchObject({
    argumentHint: "an issue",
    tools: ["a"],
  });
});

test("without arguments $ARGUMENTS is empty", async () => {
  expect((await load("Look around. $ARGUMENTS")).task).toBe("Look around. ");
});

test.each([
  ["Do $1\n\n  it in $2.", "a", "fix-issue.md:3: $2 has no argument: 1 was given."],
  ["Do it in $2.", "a", "fix-issue.md:1: the text has no place for argument 1 of 1"],
  ["---\nname: x\n---\n\nDo it.", "a", "fix-issue.md:5: the text has no place for argument 1 of 1"],
  [
    "Do $1 and $3.",
    "a b c d",
    "fix-issue.md:1: the text has no place for argument 2 of 4: write $ARGUMENTS or $2 there.",
  ],
  ["---\nname: x\n---\n \n", "", "fix-issue.md:4: there is no text below the fields"],
  [
    "---\nallowed-tool: x\n---\nDo.",
    "",
    'fix-issue.md:2: there is no field "allowed-tool", did you mean allowed-tools?',
  ],
  ["---\nallowed-tools: x\ntools: x\n---\nDo.", "", "fix-issue.md:2: it says what tools says"],
  ["---\nallowed-tools: Bash(git:*)\n---\nDo.", "", 'fix-issue.md:2: "Bash(git:*)" has a scope'],
  ["---\nmodel: inherit\n---\nDo.", "", "fix-issue.md:2: a command has no conversation to inherit a model from"],
  ["---\nmodel: opus\n---\nDo.", "", "fix-issue.md:2: expected a model"],
  ["Do.", 1, "loadCommand(file, args): expected a text, or an array of texts"],
  ["Do $1.", "x".repeat(1024 * 1024 + 1), "loadCommand(file, args): expected"],
  ["\n---\ntools: []\n---\nDo.", "", "fix-issue.md:2: fields begin in the first line: take out what is above ---."],
])("%j with %j is refused", async (text, args, message) => {
  await expect(load(text, args as string)).rejects.toThrow(message);
  await expect(load(text, args as string)).rejects.toMatchObject({ code: "option_invalid" });
});
