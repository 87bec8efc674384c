import { expect, test } from "vitest";
import { createRuntime, PortcullisError } from "../../../src/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { workspaceTools } from "../../../src/sources/workspace/index.ts";
import { Folder } from "./folder.ts";

test("four tools that only read, for both callers, and images for direct calls alone", async () => {
  await using folder = new Folder({});
  expect(folder.tools.map(({ name, effect, allowedCallers }) => [name, effect, allowedCallers.join()])).toEqual([
    ["read_file", "read", "direct,programmatic"],
    ["grep_files", "read", "direct,programmatic"],
    ["list_files", "read", "direct,programmatic"],
    ["view_image", "read", "direct"],
  ]);
  const forPrograms = workspaceTools({ root: folder.root, allowedCallers: ["programmatic"] });
  expect(forPrograms.map(({ name }) => name)).toEqual(["read_file", "grep_files", "list_files"]);
});

test("a program finds, lists and reads", async () => {
  await using folder = new Folder({ "src/a.ts": "one\ntwo\n", "b.md": "two\n" });
  await using runtime = await createRuntime({ tools: folder.tools, sandbox: createMemorySandbox() });
  const { outcome } = await runtime.execute(`
    const { paths } = await tools.list_files({ files: "**" });
    const { matches } = await tools.grep_files({ pattern: "^two$" });
    const texts = await Promise.all(paths.map((path) => tools.read_file({ path, numbered: false })));
    return { paths, lines: matches.map(({ line }) => line), texts: texts.map(({ text }) => text) };`);
  expect(outcome).toEqual({
    type: "completed",
    value: { paths: ["b.md", "src/a.ts"], lines: [1, 2], texts: ["two", "one\ntwo"] },
  });
});

test("a model reads a file page by page", async () => {
  await using folder = new Folder({ "notes.md": "one\ntwo\nthree\n" });
  const page = (given: object) => folder.call("read_file", { path: "notes.md", ...given });
  const first = { path: "notes.md", lines: 3, text: "1\tone\n2\ttwo", more: "1 more line: offset=3" };
  expect(await page({ limit: 2 })).toEqual(first);
  expect(await page({ offset: 3 })).toEqual({ path: "notes.md", lines: 3, text: "3\tthree" });
});

test("what the host excludes does not exist, and the tools say what that is", async () => {
  await using folder = new Folder(
    { "a.pem": "x", "docs/old/b.md": "x", "docs/new/b.md": "x", ".git/c": "x" },
    {
      exclude: ["*.pem", "docs/old"],
    },
  );
  expect(await folder.call("list_files", { files: "**" })).toEqual({ paths: [".git/c", "docs/new/b.md"] });
  expect(await folder.call("read_file", { path: "docs/old/b.md" })).toBe('"docs/old/b.md" is kept from these tools.');
  expect(folder.tools[0]?.description).toContain("Without *.pem, docs/old.");
  expect(workspaceTools({ root: folder.root, exclude: [] })[0]?.description).not.toContain("Without");
  const many = workspaceTools({ root: folder.root, exclude: Array.from({ length: 13 }, (_, index) => `x${index}`) });
  expect(many[0]?.description).toContain("x11, and more.");
});

test("nothing that a model is told says where the workspace lies", async () => {
  await using folder = new Folder({});
  await using runtime = await createRuntime({ tools: folder.tools, sandbox: createMemorySandbox() });
  expect(JSON.stringify(folder.tools) + runtime.declarations()).not.toContain(folder.outside);
});

test.each([
  [{}, "workspaceTools({ root }): expected the path of a folder, got undefined."],
  [{ root: "/nowhere/at/all" }, 'workspaceTools({ root }): expected the path of a folder, got "/nowhere/at/all".'],
  [{ root: import.meta.filename }, "workspaceTools({ root }): expected the path of a folder, got "],
  [{ root: ".", exclude: "dist" }, "workspaceTools({ exclude }): expected an array of patterns"],
  [{ root: ".", exclude: [1] }, "workspaceTools({ exclude[0] }): expected a pattern of paths"],
  [{ root: ".", exclude: ["/"] }, "workspaceTools({ exclude[0] })"],
  [
    { root: ".", exclude: ["a", "{b"] },
    "workspaceTools({ exclude[1] }): expected a pattern of paths, like dist or *.pem; it has a { without its }",
  ],
  [{ root: ".", fileBytes: 10 }, "workspaceTools({ fileBytes }): expected a whole number from 1024"],
  [{ root: ".", ignore: [] }, 'workspaceTools: there is no option "ignore"'],
])("%j is refused by the option's name", (options, message) => {
  const make = () => workspaceTools(options as never);
  expect(make).toThrow(PortcullisError);
  expect(make).toThrow(message);
});
