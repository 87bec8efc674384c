import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fixtures, portcullis } from "../../command.ts";
import { newFolder } from "../../../support/new-folder.ts";

const folder = newFolder();

writeFileSync(
  join(folder, "tools.ts"),
  `import { appendFileSync } from "node:fs";
   import { defineTool } from "${fixtures}../../../src/index.ts";
   import { z } from "${fixtures}../../../node_modules/zod/index.js";
   export default [
     defineTool({
       name: "pay", description: "d", inputSchema: z.object({ n: z.number() }), allowedCallers: ["programmatic"], effect: "write",
       execute: ({ n }) => { appendFileSync(${JSON.stringify(join(folder, "paid"))}, n + " "); return n; },
     }),
   ];`,
);

test("run --corrects gives a corrected program the answers of the one before it, and show tells so", async () => {
  const options = ["--tools", join(folder, "tools.ts"), "--journal", join(folder, "one.db")];
  const failed = await portcullis(["run", "-", ...options, "--id", "first"], "await tools.pay({ n: 3 }); throw 1;");
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain(`portcullis run PROGRAM ${options.join(" ")} --corrects first`);
  const program = "return [await tools.pay({ n: 3 }), await tools.pay({ n: 4 })];";
  const fixed = await portcullis(["run", "-", ...options, "--id", "second", "--corrects", "first"], program);
  expect([fixed.code, fixed.stdout]).toEqual([0, expect.stringContaining("[3,4]")]);
  expect(fixed.stdout).toContain("1 of its 2 calls was answered from before");
  const shown = (await portcullis(["show", "second", "--journal", join(folder, "one.db")])).stdout;
  expect(shown).toContain("corrects first");
  expect(shown).toContain("number, from before");
  const { readFileSync } = await import("node:fs");
  expect(readFileSync(join(folder, "paid"), "utf8")).toBe("3 4 ");
  const unknown = await portcullis(["run", "-", ...options, "--corrects", "never"], program);
  expect(unknown.stderr).toContain('"never"');
});

test("nothing is said of a corrected program where nothing was done, and where the journal ends with the command", async () => {
  const tools = ["--tools", join(folder, "tools.ts")];
  const kept = ["--journal", join(folder, "two.db")];
  for (const [options, program] of [
    [[...tools, ...kept], "throw 1;"],
    [[...tools, ...kept], "return tools.pay({ n: 9 });"],
    [tools, "await tools.pay({ n: 9 }); throw 1;"],
  ] as const)
    expect((await portcullis(["run", "-", ...options], program)).stderr).not.toContain("--corrects");
});
