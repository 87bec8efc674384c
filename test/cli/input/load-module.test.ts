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

test.each([
  ["a folder", ".", "is a folder. Name the file of a module."],
  [
    "a module that imports a missing package",
    "missing.mjs",
    "cannot be loaded: Error: Cannot find package 'missing-x' imported from",
  ],
])("an error without a place is told once: %s", async (_, name, sentence) => {
  const file = join(folder, name);
  if (name !== ".") writeFileSync(file, 'import "missing-x";\nexport default [];\n');
  const { code, stderr } = await portcullis(["tools", "--tools", file]);
  expect(code).toBe(2);
  expect(stderr.split("\n")).toEqual([expect.stringContaining(`portcullis: --tools: ${file} ${sentence}`), ""]);
});

test("a name that no file can have is an error of the option", async () => {
  const { code, stderr } = await portcullis(["tools", "--tools", "a".repeat(300)]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^portcullis: --tools: a{300} .*ENAMETOOLONG.*\n$/);
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
