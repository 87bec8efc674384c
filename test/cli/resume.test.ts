import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { fixtures, portcullis } from "./command.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
afterAll(() => rmSync(folder, { recursive: true }));

const TOOLS = ["--tools", join(folder, "tools.ts")];
writeFileSync(
  join(folder, "tools.ts"),
  `import { defineTool } from "${fixtures}../../../src/index.ts";
   import { z } from "${fixtures}../../../node_modules/zod/index.js";
   const common = { description: "d", input: z.object({ n: z.number() }), allowedCallers: ["programmatic"] } as const;
   export default [
     defineTool({ ...common, name: "pay", effect: "write", approval: "always", handler: ({ n }) => n }),
     defineTool({ ...common, name: "stock", effect: "read", handler: "client" }),
   ];`,
);

test("a program waits, is decided and is taken up by three commands, each a process of its own", async () => {
  const journal = ["--journal", join(folder, "one.db")];
  const program = "const paid = await tools.pay({ n: 3 });\nreturn paid + (await tools.stock({ n: 1 })).units;";
  const waits = await portcullis(["run", "-", ...TOOLS, ...journal, "--execution", "order-1"], program);
  expect(waits.code).toBe(6);
  expect(waits.stdout).toContain("The program waits for the approval of pay (call 1).");
  expect(waits.stderr).toContain("portcullis decide order-1 1 --allow");
  const decided = await portcullis([
    "decide",
    "order-1",
    "1",
    "--allow",
    "--by",
    "ann",
    "--note",
    "checked",
    ...journal,
  ]);
  expect(decided).toMatchObject({ code: 0, stdout: "" });
  const asks = await portcullis(["resume", "order-1", ...TOOLS, ...journal]);
  expect(asks.code).toBe(6);
  expect(asks.stderr).toContain("portcullis resume order-1 --result 2=JSON");
  const ended = await portcullis(["resume", "order-1", ...TOOLS, ...journal, "--result", '2={"units":4}']);
  expect(ended).toMatchObject({ code: 0, stdout: "7\n" });
  const shown = await portcullis(["show", "order-1", ...journal]);
  expect(shown.stdout).toMatch(/^1 +allowed +ann +checked/m);
});

test("a program itself waits for its approval with --approve-program, and a remembered decision holds for its equal calls", async () => {
  const journal = ["--journal", join(folder, "two.db")];
  const program = "return [await tools.pay({ n: 3 }), await tools.pay({ n: 3 })];";
  const held = await portcullis(["run", "-", ...TOOLS, ...journal, "--execution", "two", "--approve-program"], program);
  expect(held.code).toBe(6);
  expect(held.stdout).toContain("The program waits for the approval of run_program (call program).");
  expect(held.stderr).toContain("portcullis decide two program --allow");
  expect((await portcullis(["decide", "two", "program", "--allow", ...journal])).code).toBe(0);
  expect((await portcullis(["resume", "two", ...TOOLS, ...journal])).code).toBe(6);
  const decide = ["decide", "two", "1", "--allow", "--by", "ann", "--remember", ...journal];
  expect((await portcullis(decide)).code).toBe(0);
  const ended = await portcullis(["resume", "two", ...TOOLS, ...journal]);
  expect(ended).toMatchObject({ code: 0, stdout: "[3,3]\n" });
  const shown = await portcullis(["show", "two", ...journal]);
  expect(shown.stdout).toMatch(/^1 +allowed, remembered +ann/m);
  expect(shown.stdout).toMatch(/^2 +allowed, as call 1 +ann/m);
});

test.each([
  [["run", "-", ...TOOLS, "--approve", "later"], "--approve later needs a program that"],
  [["decide", "none", "1", "--allow", "--journal", join(folder, "one.db")], 'holds no execution "none"'],
  [
    ["decide", "order-1", "1", "--allow", "--deny", "--journal", join(folder, "one.db")],
    "exactly one of --allow, --deny and --done",
  ],
  [["decide", "order-1", "9", "--allow", "--journal", join(folder, "one.db")], 'has no open call "9"'],
  [["resume", "order-1", ...TOOLS, "--result", "units", "--journal", join(folder, "one.db")], "expected CALL=JSON"],
])("%j is refused with a sentence and exit code 2", async (args, message) => {
  const refused = await portcullis(args, "return 1;");
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain(message);
});
