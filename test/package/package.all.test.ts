import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readData } from "../../examples/read-data.ts";
import packageJson from "../../package.json" with { type: "json" };
import { NODE_SENTENCE } from "../../src/sandboxes/isolate/platform.ts";
import { anthropicWire } from "../models/anthropic/wire.ts";
import { chatWire } from "../models/openai/chat/wire.ts";
import { serve } from "../models/wire.ts";
import { expectPageHolds, inShell } from "../documents/follow-page.ts";
import { ALL_TESTS } from "../support/all-tests.ts";
import { blocksOf, filesIn, packagesOf, root, type Snippet, snippets } from "../support/snippets.ts";
import { COMMANDS, FINISHED } from "./commands.ts";
import {
  environment,
  Installed,
  INSTALLATION,
  type Ran,
  run,
  start,
  succeed,
  TSCONFIG,
  withVersion,
} from "./project.ts";

/*
 * The package as its users have it: the tarball in projects outside of the clone. It fetches dependencies from the registry of
 * npm, so it is one of the tests of `make test-all`.
 */

const bin = join(root, "node_modules/.bin");
const packagers = join(root, "test/packagers/node_modules/.bin");
const uses = join(import.meta.dirname, "uses");
const installed = new Installed();
// A busy disk takes a while to remove all projects.
afterAll(() => installed[Symbol.dispose](), 300_000);

const GITHUB = new URL("../../examples/operations/api.github.com.json.br", import.meta.url);

const documents = [...new Set(snippets.map(({ document }) => document))];
const nameOf = (document: string) => document.replaceAll(/\W/g, "-");
const placeOf = (document: string, snippet: Snippet) =>
  `${nameOf(document)}/snippet-${snippets.filter((one) => one.document === document).indexOf(snippet) + 1}.ts`;

/** What the README's model writes: the program that stands behind its example. */
const code = blocksOf("README.md").find(({ language }) => language === "js")?.text;
const README_TURNS = [
  { calls: [{ tool: "run_program", input: { code } }] },
  { text: "Cleo owes you most: 398,000 euros." },
];

/** A project with the packages that a document tells to install, its files and its snippets. */
function openDocument(document: string): string {
  const project = installed.project(nameOf(document), packagesOf(document));
  const folder = join(project, nameOf(document));
  mkdirSync(folder);
  for (const [file, text] of filesIn(blocksOf(document))) writeFileSync(join(folder, file), text);
  const downloads = blocksOf(document).some(({ text }) =>
    text.includes("curl -O https://raw.githubusercontent.com/github/"),
  );
  if (downloads) writeFileSync(join(project, "api.github.com.json"), JSON.stringify(readData(GITHUB)));
  for (const snippet of snippets.filter((one) => one.document === document))
    writeFileSync(join(project, placeOf(document, snippet)), snippet.code);
  return project;
}

/** With `UPDATE_SNIPPETS=1` documents say what their snippets print now, for review. */
function rewrite({ document, code, printed }: Snippet, said: string): void {
  const between = "```\n\n```\n";
  writeFileSync(
    root + document,
    readFileSync(root + document, "utf8").replace(code + between + printed?.text, () => code + between + said),
  );
}

/** Space that a folder takes on a disk with blocks of 4 KiB. */
function bytesOnDisk(folder: string): number {
  return (
    readdirSync(folder, { recursive: true, withFileTypes: true }).reduce(
      (sum, entry) =>
        entry.isFile() ? sum + Math.ceil(statSync(join(entry.parentPath, entry.name)).size / 4096) : sum + 1,
      1,
    ) * 4096
  );
}

/** One mistake for each use, which the types find too, and what it says when it is run. */
const WRONG = [
  [
    "no-callers",
    `defineTool({ name: "crm.get", description: "x", inputSchema: z.object({}), effect: "read", execute: () => 1 });`,
    "allowedCallers",
  ],
  [
    "wrong-input",
    `const getStock = defineTool({ name: "warehouse.getStock", description: "x", inputSchema: z.object({ sku: z.string() }), allowedCallers: ["programmatic"], effect: "read", execute: () => 4 });
await using runtime = await createRuntime({ tools: [getStock] });
console.error((await runtime.execute({ sku: 9 })).output.text);`,
    "execute(program): expected source text",
  ],
  [
    "unknown-caller",
    `defineTool({ name: "orders.read", description: "x", inputSchema: z.object({}), allowedCallers: ["model"], effect: "read", execute: () => 1 });`,
    "allowedCallers",
  ],
  [
    "no-answer",
    `await using runtime = await createRuntime({ tools: [] });
await compare(runtime, { name: "x", question: "x", program: "return 1;" });`,
    "task.answer: expected the right answer",
  ],
] as const;

describe.skipIf(!ALL_TESTS)("the installed package", { timeout: 300_000 }, () => {
  beforeAll(() => installed.install(), 600_000);

  test("the line of the README installs it, in less than 50 MiB on disk", () => {
    expect(INSTALLATION).toContain("npm install ./portcullis-");
    const bytes = bytesOnDisk(join(installed.bare, "node_modules"));
    expect(bytes).toBeGreaterThan(20 * 1024 * 1024);
    expect(bytes).toBeLessThan(50 * 1024 * 1024);
  });

  test("an editor reads the declarations of its entries, and of nothing that no entry leads to: less than 340 KB", () => {
    const folder = join(installed.bare, "node_modules/portcullis");
    const declarations = globSync("**/*.d.ts", { cwd: folder, exclude: ["node_modules"] });
    const sizes = declarations.map((file) => statSync(join(folder, file)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(340_000);
    expect(declarations.filter((file) => !/^dist[/]src[/][\w-]+[.]d[.]ts$/.test(file))).toEqual([]);
  });

  test("it loads a few files, and of zod none: to be imported, to run a program, to print its help", async () => {
    const counted = async (...args: string[]) => {
      const file = join(import.meta.dirname, "count-loaded.mjs");
      const { stderr } = await run(process.execPath, ["--import", file, ...args], installed.bare);
      return JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as { files: number; zod: number };
    };
    const importing = await counted("--input-type=module", "--eval", 'await import("portcullis");');
    const program = `
      const { createRuntime } = await import("portcullis");
      await using runtime = await createRuntime({ tools: [] });
      await runtime.execute("return 1;");`;
    const running = await counted("--input-type=module", "--eval", program);
    const helping = await counted("node_modules/.bin/portcullis", "--help");
    expect([importing.zod, running.zod, helping.zod]).toEqual([0, 0, 0]);
    expect(importing.files).toBeLessThanOrEqual(15);
    expect(running.files).toBeLessThanOrEqual(25);
    expect(helping.files).toBeLessThanOrEqual(30);
  });

  test.each([
    ["publint", "--strict"],
    ["attw", "--profile", "esm-only"],
  ])("%s finds nothing to mend in it", async (command, ...options) => {
    await succeed(join(packagers, command), [installed.tarball, ...options], installed.bare);
  });

  describe.each(documents)("%s", (document) => {
    let project = "";
    beforeAll(() => {
      project = openDocument(document);
    });
    const own = snippets.filter((snippet) => snippet.document === document);

    test("its snippets type-check under strict, with no packages but those that it tells to install", async () => {
      expect((await run(join(bin, "tsc"), ["-p", "."], project)).stdout).toBe("");
    });

    test.each(own)("$where: the snippet runs as it stands, and prints what stands behind it", async (snippet) => {
      await using served = await serve(anthropicWire, README_TURNS);
      const env = { ANTHROPIC_BASE_URL: `${served.url}/v1`, ANTHROPIC_API_KEY: anthropicWire.key };
      const args = ["--no-warnings", placeOf(document, snippet)];
      const { stdout, stderr } = await run(process.execPath, args, project, env);
      expect(snippet.printed?.language).toBe("");
      if (process.env["UPDATE_SNIPPETS"] !== undefined) return rewrite(snippet, stdout);
      expect({ stdout, stderr: stdout === snippet.printed?.text ? "" : stderr }).toEqual({
        stdout: snippet.printed?.text,
        stderr: "",
      });
    });
  });

  test("Start here can be followed from its top to its end", async () => {
    const parent = join(installed.folder, "start-here");
    mkdirSync(parent);
    cpSync(installed.tarball, join(parent, basename(installed.tarball)));
    const makeFolder = async (commands: string) => {
      await succeed("sh", ["-ec", commands], parent);
      return join(parent, "first");
    };
    await expectPageHolds(makeFolder, inShell(environment({})));
    expect((await run(join(bin, "tsc"), ["-p", "."], join(parent, "first"))).stdout).toBe("");
  });

  describe("every source and every door", () => {
    let project = "";
    let http = { url: "", token: "" };
    let mcp = { url: "", token: "" };
    const opened = new AsyncDisposableStack();
    afterAll(() => opened.disposeAsync());

    beforeAll(async () => {
      project = installed.project("doors", [...packagesOf("docs/sources.md"), ...packagesOf("docs/mcp.md")]);
      cpSync(uses, project, { recursive: true });
      const cli = ["node_modules/.bin/portcullis"];
      const serving = await start(
        process.execPath,
        [...cli, "serve", "--tools", "tools.ts", "--port", "0"],
        project,
        /#token=/,
      );
      opened.use(serving);
      http = {
        url: /serving at (\S+)/.exec(serving.said)?.[1] ?? "",
        token: /#token=(\S+)/.exec(serving.said)?.[1] ?? "",
      };
      const door = await start(
        process.execPath,
        [...cli, "mcp", "--tools", "tools.ts", "--http", "0"],
        project,
        /MCP at \S+\n/,
      );
      opened.use(door);
      mcp = { url: /MCP at (\S+)/.exec(door.said)?.[1] ?? "", token: /Bearer (\S+)/.exec(door.said)?.[1] ?? "" };
    }, 120_000);

    test("each source gives tools that a program can call: MCP, .mcp.json, OpenAPI and Swagger in JSON and YAML", async () => {
      const printed = await succeed(process.execPath, ["--no-warnings", "sources.ts", mcp.url, mcp.token], project);
      expect(JSON.parse(printed)).toEqual({
        "MCP over standard streams": true,
        "MCP over HTTP": "3",
        ".mcp.json": true,
        "OpenAPI 3.1, JSON": "/things",
        "OpenAPI 3.0, YAML": "/things",
        "Swagger 2.0, JSON": "/things",
        "Swagger 2.0, YAML": "/things",
      });
    });

    test("each door runs a program for its client", async () => {
      const args = ["--no-warnings", "doors.ts", http.url, http.token, mcp.url, mcp.token];
      expect(JSON.parse(await succeed(process.execPath, args, project))).toEqual({
        "portcullis serve": 3,
        "portcullis serve, /mcp": ["3"],
        "portcullis mcp --http": ["3"],
        "portcullis mcp": ["3"],
        createServer: 3,
      });
    });

    test("they type-check under strict", async () => {
      expect((await run(join(bin, "tsc"), ["-p", "."], project)).stdout).toBe("");
    });
  });

  describe("every command", () => {
    let project = "";
    const done: Ran[] = [];
    beforeAll(() => {
      project = installed.project("commands", ["openai"]);
      cpSync(uses, project, { recursive: true });
    });
    const portcullis = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
      run(process.execPath, ["node_modules/.bin/portcullis", ...args], project, env);

    test("none is left out here", async () => {
      const { stdout } = await portcullis(["--help"]);
      const names = [...stdout.matchAll(/^ {2}([a-z]+) {2}/gm)]
        .map(([, name = ""]) => name)
        .filter((name) => name !== "help");
      expect(names).toContain("run");
      const tried = new Set([...COMMANDS.map(({ args }) => args[0]), ...FINISHED]);
      expect(names.filter((name) => !tried.has(name))).toEqual([]);
    });

    test.each(COMMANDS)("$args", async ({ args, env, code = 0, stdout, stderr, before }) => {
      const given = before === undefined ? args : await before({ project, args, earlier: done, run: portcullis });
      const ran = await portcullis(given, env);
      done.push(ran);
      expect({ ...ran, code: ran.code }).toEqual({
        code,
        stdout: stdout === undefined ? ran.stdout : expect.stringMatching(stdout),
        stderr: stderr === undefined ? ran.stderr : expect.stringMatching(stderr),
      });
      expect(ran.stderr).not.toMatch(/\n {4}at /);
    });
  });

  test("ask: a model's program runs, and its answer is printed", async () => {
    const project = installed.project("ask", ["openai"]);
    cpSync(uses, project, { recursive: true });
    const program = "return await tools.math.add({ a: 1, b: 2 });";
    await using served = await serve(chatWire, [{ calls: [{ program }] }, { text: "It is 3." }]);
    const options = ["--model", "openai-chat:m", "--base-url", served.url, "--tools", "tools.ts"];
    const args = ["node_modules/.bin/portcullis", "ask", "How many?", ...options];
    const { code, stdout } = await run(process.execPath, args, project, { OPENAI_API_KEY: chatWire.key });
    expect([code, stdout, served.refusals]).toEqual([0, "It is 3.\n", []]);
  });

  describe("init: npx writes a folder from the tarball alone", () => {
    const folder = () => join(installed.folder, "started/my-tools");
    let said = "";
    beforeAll(async () => {
      mkdirSync(dirname(folder()), { recursive: true });
      const args = ["--yes", "--package", installed.tarball, "portcullis", "init", "my-tools", "--mcp"];
      said = await succeed("npx", args, dirname(folder()));
    }, 300_000);

    /** Runs one of the commands that `init` has ended with, in the folder where a person is then. */
    const follow = (line: RegExp, cwd: string) => {
      const [, command = ""] = line.exec(said) ?? [];
      expect(command).not.toBe("");
      return succeed("sh", ["-ec", command], cwd);
    };

    test("the commands that it ends with install what the folder needs, run its program, check its types and list its tools", async () => {
      await follow(/^ {2}(cd my-tools && npm install) {3}#/m, dirname(folder()));
      expect(await follow(/^ {2}(npx portcullis run .*?) {3}#/m, folder())).toBe(
        '[{"customer":"c46","euros":830},{"customer":"c47","euros":620},{"customer":"c14","euros":600}]\n',
      );
      expect(await follow(/^ {2}(npx tsc) {3}#/m, folder())).toBe("");
      expect(await follow(/^ {2}(npx portcullis tools .*?) {3}#/m, folder())).toContain("tools.orders.remind(input");
    });

    test("the types are checked strictly, and .mcp.json starts a door with the tools", async () => {
      writeFileSync(join(folder(), "wrong.ts"), "export const ids = (list) => list;\n");
      expect((await run("npx", ["tsc"], folder())).stdout).toContain("wrong.ts(1,21): error TS7006");
      rmSync(join(folder(), "wrong.ts"));
      const { mcpServers } = JSON.parse(readFileSync(join(folder(), ".mcp.json"), "utf8")) as {
        readonly mcpServers: { readonly portcullis: { readonly command: string; readonly args: readonly string[] } };
      };
      const { command, args } = mcpServers.portcullis;
      // A door whose client has left at once.
      await succeed("sh", ["-ec", `${[command, ...args].join(" ")} < /dev/null`], folder());
    });

    test("a second time nothing is written", async () => {
      const { code, stderr } = await run("npx", ["portcullis", "init"], folder());
      expect([code, stderr]).toEqual([2, expect.stringContaining("is not empty")]);
    });
  });

  describe("what is wrong is said", () => {
    let project = "";
    beforeAll(() => {
      project = installed.project("wrong", ["openai"]);
      const strict = { ...TSCONFIG, compilerOptions: { ...TSCONFIG.compilerOptions, skipLibCheck: false } };
      writeFileSync(join(project, "tsconfig.json"), JSON.stringify(strict));
    });

    const fileOf = (name: string) => `wrong-${name}.ts`;
    const writeAll = () => {
      for (const [name, code] of WRONG)
        writeFileSync(
          join(project, fileOf(name)),
          `import { createRuntime, defineTool } from "portcullis";
import { compare } from "portcullis/comparison";
import { z } from "zod";
void [createRuntime, defineTool, compare, z];
${code}
`,
        );
    };

    test("the types find each wrong use, and no fault in the package's own declarations", async () => {
      writeAll();
      const { stdout } = await run(join(bin, "tsc"), ["-p", "."], project);
      const places = new Set([...stdout.matchAll(/^([^(\s]+)\(/gm)].map(([, where]) => where));
      expect(places).toEqual(new Set(WRONG.map(([name]) => fileOf(name))));
    });

    test.each(WRONG)("a wrong use, %s, is named at run", async (name, _, sentence) => {
      writeAll();
      const ran = await run(process.execPath, ["--no-warnings", fileOf(name)], project);
      expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(sentence)]);
    });

    test("an example whose data is too large for the package says where it runs", async () => {
      for (const command of ["demo", "bench"]) {
        const { code, stdout, stderr } = await run("npx", ["portcullis", command, "speeches"], project);
        expect([code, stdout]).toEqual([5, ""]);
        expect(stderr).toContain("speeches: ");
      }
    });

    test("an example says what to install for it", async () => {
      const { code, stdout, stderr } = await run("npx", ["portcullis", "demo", "mcp-join"], project);
      expect([code, stdout]).toEqual([5, ""]);
      expect(stderr).toContain(`npm install ${withVersion("@modelcontextprotocol/client")}`);
    });
  });

  test("under an older node every entry can be imported, and createRuntime says which node it needs", async () => {
    const old = join(installed.folder, "node-20");
    mkdirSync(old);
    await succeed(
      "npm",
      ["install", "--prefix", old, "--no-audit", "--no-fund", "--ignore-scripts=false", "node@20"],
      old,
    );
    const entries = Object.keys(packageJson.exports).flatMap((entry) =>
      entry.endsWith(".json") ? [] : [entry.replace(".", "portcullis")],
    );
    const code = `
      for (const entry of ${JSON.stringify(entries)}) await import(entry);
      const { createRuntime } = await import("portcullis");
      await createRuntime({ tools: [] }).catch(({ code, message }) => console.log(code, message));
    `;
    const args = ["--input-type=module", "--eval", code];
    const { stdout, stderr } = await run(join(old, "node_modules/.bin/node"), args, installed.bare);
    expect([stdout, stderr]).toEqual([
      expect.stringMatching(/^sandbox_unavailable This is node 20\.\d+\.\d+\. /) as string,
      "",
    ]);
    expect(stdout).toContain(NODE_SENTENCE);
  });

  test("pnpm installs it, and leaves out no build script but that of isolated-vm", async () => {
    const other = join(installed.folder, "with-pnpm");
    mkdirSync(other);
    writeFileSync(join(other, "package.json"), JSON.stringify({ private: true, type: "module" }));
    const { stdout, stderr } = await run(
      join(packagers, "pnpm"),
      ["add", installed.tarball, withVersion("zod")],
      other,
    );
    const ignored = /Ignored build scripts: ([^\n]+)/.exec(`${stdout}${stderr}`)?.[1] ?? "";
    const names = [...ignored.matchAll(/([\w@/-][\w./-]*)@\d/g)].map(([, name = ""]) => name);
    expect(names.filter((name) => name !== "isolated-vm")).toEqual([]);
    const { stdout: listed } = await run(join(packagers, "pnpm"), ["exec", "portcullis", "--version"], other);
    expect(listed).toBe(`${packageJson.version}\n`);
  });
});
