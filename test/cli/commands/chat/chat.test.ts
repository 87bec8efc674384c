import { join } from "node:path";
import { expect, test } from "vitest";
import { anthropicWire } from "../../../models/anthropic/wire.ts";
import { serve } from "../../../models/wire.ts";
import { begin, fixtures, portcullis as command } from "../../command.ts";
import { newFolder } from "../../../support/new-folder.ts";

const environment = { ANTHROPIC_API_KEY: anthropicWire.key };
const portcullis = (args: readonly string[], input: string | Buffer = "") => command(args, input, { environment });

const folder = newFolder();

const CHAT = ["chat", "--model", `${fixtures}chat-model.ts`, "--tools", `${fixtures}chat-tools.ts`];
const ID = /--id ([\w-]+)/;
/** A call that waits, and its conversation. */
const DECIDE = /portcullis decide ([\w-]+) (\S+) --allow/;

test("each line of a pipe is a message, also one with a slash; answers go to standard output, all else to standard error", async () => {
  const { code, stdout, stderr } = await portcullis(CHAT, "hello\n\n/tools\r\ncount");
  expect([code, stdout]).toEqual([0, "Message 1: hello\nMessage 2: /tools\nI count.\nIt came to 100\n"]);
  expect(stderr).toContain("\n── program ──\n  // Late rows\n");
  expect(stderr).toMatch(/call from the program: rows\.list → array of 500, [\d.]+ ms\nprogram done\n/);
  expect(stderr).toMatch(
    /KiB \(about .* tokens\) returned by tools → 3 B \(1 token\) given to the model\n4 turns, 1 program, 1 call, /,
  );
  expect(stdout + stderr).not.toMatch(/[\u001b\r]/);
});

test("a pipe ends at the first message without an answer, with the exit code of ask", async () => {
  const failed = await portcullis(CHAT, "one\nfail\ntwo\n");
  expect([failed.code, failed.stdout]).toEqual([5, "Message 1: one\n"]);
  expect(failed.stderr).toMatch(/^provider_failed: The provider failed\.$/m);
  expect(failed.stderr).toContain("no further message of standard input was sent.\n");
  const denied = await portcullis(CHAT, 'pay {"amount":1}\nafter\n');
  expect([denied.code, denied.stdout.split("\n").at(-2)]).toEqual([0, "Message 2: after"]);
  expect(denied.stderr).toContain("pay needs approval");
});

test("with a journal a conversation is left open, and taken up under its id, with all that was said", async () => {
  const journal = ["--journal", join(folder, "kept.db")];
  const first = await portcullis([...CHAT, ...journal], "one\n");
  const [, id = ""] = ID.exec(first.stderr) ?? [];
  expect(first.stderr).toContain(`Resume it with:\n  portcullis chat --id ${id} --tools `);
  const again = await portcullis([...CHAT, ...journal, "--id", id], "two\n");
  expect([again.code, again.stdout]).toEqual([0, "Message 2: two\n"]);
  expect(again.stderr).toContain(`--id ${id} `);
  const shown = await portcullis(["show", id, ...journal]);
  expect(shown.stdout).toContain("waits for the user");
});

test("the journal names the model of a provider, and what it keeps is not chosen again", async () => {
  await using served = await serve(anthropicWire, [{ text: "One." }, { text: "Two." }]);
  const options = ["--base-url", served.url, "--journal", join(folder, "named.db")];
  const first = await portcullis(["chat", "--model", "anthropic:claude-test", ...options], "1\n");
  const [, id = ""] = ID.exec(first.stderr) ?? [];
  const again = await portcullis(["chat", "--id", id, ...options], "2\n");
  expect([again.code, again.stdout, served.refusals]).toEqual([0, "Two.\n", []]);
  const chosen = await portcullis(["chat", "--id", id, "--set", "maxTurns=3", ...options], "3\n");
  expect(chosen.code).toBe(2);
  expect(chosen.stderr).toContain("has not ended, and keeps what it began with");
});

test("a call that waits for a decision ends a pipe with 6 and the commands that go on, and goes on once it was decided", async () => {
  const journal = ["--journal", join(folder, "waits.db")];
  const first = await portcullis([...CHAT, ...journal], 'program {"amount":5}\nnot said\n\nnor this');
  expect([first.code, first.stdout]).toEqual([6, ""]);
  expect(first.stderr).not.toContain("/continue");
  const [, id = "", call = ""] = DECIDE.exec(first.stderr) ?? [];
  expect(first.stderr).not.toContain("Take it up again");
  const commands = new RegExp(
    `with:\\n {2}portcullis decide ${id} \\S+ --allow .*\\n.*with:\\n {2}portcullis resume ${id} `,
  );
  expect(first.stderr).toMatch(commands);
  const idle = await portcullis([...CHAT, ...journal, "--id", id], "\n");
  expect([idle.code, idle.stdout]).toEqual([6, ""]);
  expect(idle.stderr).toContain("Nothing was said");
  expect(idle.stderr).toMatch(
    new RegExp(`portcullis decide ${id} \\S+ --allow .*\\n.*with:\\n {2}portcullis resume ${id} `),
  );
  await portcullis(["decide", id, call, "--allow", ...journal]);
  const resumed = await portcullis(["resume", id, ...CHAT.slice(1), ...journal]);
  expect(resumed.stdout).toContain('It came to {"paid":5}');
});

test("a program is no conversation to be taken up, and an id that nothing has is told", async () => {
  const journal = ["--journal", join(folder, "program.db")];
  await portcullis(["run", "-", "--id", "p", ...journal], "return 1");
  const program = await portcullis([...CHAT, ...journal, "--id", "p"], "hello\n");
  expect([program.code, program.stderr]).toEqual([2, "portcullis: --id: p is a program, and no conversation.\n"]);
  const unknown = await portcullis([...CHAT, ...journal, "--id", "none"], "hello\n");
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("none")]);
});

test("a message that is no text is refused, and what was said before it stays", async () => {
  const { code, stdout, stderr } = await portcullis(
    CHAT,
    Buffer.concat([Buffer.from("one\n"), Buffer.from([0xff, 10])]),
  );
  expect([code, stdout]).toEqual([2, "Message 1: one\n"]);
  expect(stderr).toContain("is not UTF-8");
});

test.each<[NodeJS.Signals, number]>([
  ["SIGINT", 130],
  ["SIGTERM", 143],
])("%s in the midst of a call ends a pipe, and the conversation can be taken up", async (signal, exitCode) => {
  const journal = ["--journal", join(folder, `${signal}.db`)];
  const { until, hear, finished } = begin([...CHAT, ...journal], "hang\n");
  await until("hanging");
  hear(signal);
  const { code, stderr, stdout } = await finished;
  expect([code, stdout]).toEqual([exitCode, "I wait.\n"]);
  const [, id = ""] = ID.exec(stderr) ?? [];
  const again = await portcullis([...CHAT, ...journal, "--id", id], "two\n");
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("The user interrupted before this call")]);
});

test("foreign text cannot steer the terminal or begin a line of the command, in any stream", async () => {
  const { code, stdout, stderr } = await portcullis(CHAT, "foreign\n");
  expect(code).toBe(0);
  expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  expect(stdout).toContain(String.raw`\u001b[2J\u001b]0;owned\u0007\u009b1A\u202e`);
});
