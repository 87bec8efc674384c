import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, createSqliteJournal, defineTool, type RuntimeOptions } from "portcullis";
import { createMemorySandbox } from "portcullis/testing";
import { portcullis } from "../../command.ts";

const pay = defineTool({
  name: "pay",
  description: "Pays",
  input: z.object({ euros: z.number() }),
  allowedCallers: ["programmatic"],
  effect: "write",
  approval: "always",
  handler: ({ euros }) => euros,
});
const PAYS = "let sum = 0; for (const euros of [5, 10, 20, 400]) sum += await tools.pay({ euros }); return sum;";
const common = { tools: [pay], approve: () => "later", logger: { error: () => {} } } satisfies RuntimeOptions;

describe("decide --grant", () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-grant-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("lets further calls through that fit it, and is noted with the words of the decision", async () => {
    const path = join(folder, "one.db");
    using journal = createSqliteJournal({ path });
    await using runtime = await createRuntime({ ...common, journal, sandbox: createMemorySandbox() });
    const { execution } = await runtime.execute(PAYS);
    const grant = JSON.stringify({ calls: 5, sums: { "/euros": 100 } });
    const decided = await portcullis([
      "decide",
      execution,
      "1",
      "--allow",
      "--by",
      "ann",
      "--grant",
      grant,
      "--journal",
      path,
    ]);
    expect(decided).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Noted\. Take it up/) as string });
    const { outcome, calls } = await runtime.resume(execution);
    expect(calls).toHaveLength(3);
    expect(outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "4", tool: "pay" }] });
    const shown = await portcullis(["show", execution, "--journal", path]);
    expect(shown.stdout).toContain("allowed, and 5 more calls with at most 100 of euros in all");
    expect(shown.stdout).toContain(
      "allowed, by the grant of call 1, which has 3 more calls with at most 70 of euros in all left",
    );
  });

  test.each([
    ["no JSON", "{calls: 5}"],
    ["no object", "5"],
    ["nothing that bounds it", "{}"],
    ["a negative sum", '{"sums":{"/euros":-1}}'],
    ["a number of calls below one", '{"calls":0}'],
    ["a schema of inputs", '{"calls":5,"input":{"type":"object"}}'],
    ["an unknown field", '{"call":5}'],
  ])("with %s is refused, and nothing is noted", async (_, grant) => {
    const path = join(folder, `bad-${Buffer.from(grant).toString("hex")}.db`);
    using journal = createSqliteJournal({ path });
    await using runtime = await createRuntime({ ...common, journal, sandbox: createMemorySandbox() });
    const { execution } = await runtime.execute(PAYS);
    const { records } = await journal.find(execution);
    const decided = await portcullis(["decide", execution, "1", "--allow", "--grant", grant, "--journal", path]);
    expect(decided.code).not.toBe(0);
    expect(decided.stderr).toMatch(/grant/);
    expect((await journal.find(execution)).records).toBe(records);
  });
});
