import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { tellUnassigned } from "../../../src/cli/input/open-tools.ts";
import { portcullis } from "../command.ts";
import { newFolder } from "../../support/new-folder.ts";

const folder = newFolder();

test.each(["null", "7", "[] ", "() => 1", "{ toString: () => 'inner' }"])(
  "the places of an error are told if its cause has %s as its stack",
  async (stack) => {
    const file = join(folder, `tools-${stack.length}.mjs`);
    writeFileSync(
      file,
      `const cause = new Error("inner");\ncause.stack = ${stack};\nthrow new Error("outer", { cause });\n`,
    );
    const { code, stderr } = await portcullis(["tools", "--tools", file]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/Error: outer\n {6}at .*tools-\d+\.mjs:3:7\n(?:.*\n)* +\[cause\]: /);
  },
);

test("a package that a module imports and that is missing is told once", async () => {
  const file = join(folder, "missing.mjs");
  writeFileSync(file, 'import "missing-x";\nexport default [];\n');
  const { code, stderr } = await portcullis(["tools", "--tools", file]);
  const sentence = `portcullis: --tools: ${file} cannot be loaded: Error: Cannot find package 'missing-x' imported from`;
  expect([code, ...stderr.split("\n")]).toEqual([2, expect.stringContaining(sentence), ""]);
});

test("the command that lists what was not taken over has the files as a shell takes them", () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  const open = { tools: [], sources: [], unassigned: [], problems: ["one"] };
  tellUnassigned(open as never, {
    tools: undefined,
    mcp: ["my servers'.json"],
    allow: [],
    openapi: ["$(id)\u001b[2J.yaml"],
  });
  expect(write.mock.calls.flat().join("")).toBe(
    String.raw`1 could not be taken over as a whole: portcullis tools --mcp 'my servers'\''.json' --openapi '$(id)\u001b[2J.yaml' --check lists them.` +
      "\n",
  );
});
