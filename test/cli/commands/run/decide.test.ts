import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, createSqliteJournal, defineTool, type RuntimeOptions } from "portcullis";
import { createMemorySandbox } from "portcullis/testing";
import { journalWith } from "../../../support/journal-with.ts";
import { signal } from "../../../support/tools.ts";
import { portcullis } from "../../command.ts";
import { newFolder } from "../../../support/new-folder.ts";

const payment = {
  name: "pay",
  description: "Pays",
  inputSchema: z.object({ euros: z.number() }),
  allowedCallers: ["programmatic"],
  effect: "write",
} as const;
const pay = defineTool({ ...payment, approval: "always", execute: ({ euros }) => euros });
const PAYS = "let sum = 0; for (const euros of [5, 10, 20, 400]) sum += await tools.pay({ euros }); return sum;";
const common = { tools: [pay], approve: () => "later", logger: { error: () => {} } } satisfies RuntimeOptions;

const folder = newFolder();

test("writes that may have taken effect are shown with three answers, of which those about a second hold name it, and decide says what still waits", async () => {
  const begun = signal();
  const handler = async ({ euros }: { readonly euros: number }) => {
    if (euros === 2) begun.happen();
    return new Promise<never>(() => {});
  };
  // The second call waited for an approval before its host died.
  const tools = [defineTool({ ...payment, approval: ({ euros }) => euros === 2, execute: handler })];
  const sandbox = createMemorySandbox();
  const records = await (async () => {
    await using dies = await createRuntime({ ...common, approve: () => true, tools, sandbox });
    const program = "return Promise.all([1, 2].map((euros) => tools.pay({ euros })));";
    void dies.execute(program, { id: "died" });
    await begun.happened;
    return Array.fromAsync(dies.journal.read("died"));
  })();
  const path = join(folder, "died.db");
  using journal = createSqliteJournal({ path });
  await journalWith(records, journal);
  await using runtime = await createRuntime({ ...common, tools, journal, sandbox });
  await runtime.execution("died").resume();
  const flagsOf = (call: number) => `${call === 2 ? " --hold 2" : ""} --journal ${path}`;
  const answersOf = (call: number) =>
    [
      `call ${call}: pay with {"euros":${call}} waits for a decision: it may have taken effect already, and there is no result of it. It changes something each time.`,
      "  It was done… (the program gets the result that you give as JSON):",
      `    portcullis decide died ${call} --done JSON${flagsOf(call)}`,
      "  Run it again (the call is made a second time):",
      `    portcullis decide died ${call} --allow${flagsOf(call)}`,
      "  Give up (the program gets the error outcome_unknown):",
      `    portcullis decide died ${call} --deny${flagsOf(call)}`,
    ].join("\n");
  const shown = await portcullis(["show", "died", "--journal", path]);
  expect(shown.stdout).toContain(`\n${answersOf(1)}\n${answersOf(2)}\n`);
  const decide = async (call: string, value: string, ...more: readonly string[]) =>
    (await portcullis(["decide", "died", call, "--done", value, ...more, "--journal", path])).stderr;
  expect(await decide("1", "10")).toMatch(`Noted. It still waits:\n${answersOf(2)}\nResume it`);
  expect(await decide("2", "20")).toContain("give hold 2 with a decision about that");
  expect(await decide("2", "20", "--hold", "2")).toMatch(/^Noted\. Resume it/);
  expect((await runtime.execution("died").resume()).outcome).toEqual({ type: "completed", value: [10, 20] });
});

describe("decide --grant", () => {
  test("lets further calls through that fit it, and is noted with the words of the decision", async () => {
    const path = join(folder, "one.db");
    using journal = createSqliteJournal({ path });
    await using runtime = await createRuntime({ ...common, journal, sandbox: createMemorySandbox() });
    const { execution } = await runtime.execute(PAYS);
    const grant = JSON.stringify({ calls: 5, sums: { "/euros": 100 } });
    const decide = ["decide", execution, "1", "--allow", "--by", "ann", "--grant", grant];
    const decided = await portcullis([...decide, "--journal", path]);
    expect(decided).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Noted\. Resume it/) as string });
    const { outcome, calls } = await runtime.execution(execution).resume();
    expect(calls).toHaveLength(3);
    expect(outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "4", tool: "pay" }] });
    const shown = await portcullis(["show", execution, "--journal", path]);
    expect(shown.stdout).toContain("allowed, and 5 more calls with at most 100 of euros in all");
    expect(shown.stdout).toContain(
      "allowed, by the grant of call 1, which has 3 more calls with at most 70 of euros in all left",
    );
  });
});
