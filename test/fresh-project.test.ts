import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ALL_TESTS } from "./support/all-tests.ts";
import { makeClone } from "./support/make-clone.ts";

/*
 * The package as its users have it: the tarball in a new project. It fetches dependencies from the registry of npm, so it
 * is one of the tests of `make test-all`.
 */

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = join(root, "node_modules/.bin");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const { devDependencies, ...manifest } = JSON.parse(read("package.json")) as {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};
const { zod = "" } = manifest.dependencies;
const withVersion = (name: string) => `${name}@${devDependencies[name]}`;

const README = read("README.md");
const [, installation = ""] = /^```sh\n(npm pack .+)\n```$/m.exec(README) ?? [];
const uses = [
  ...(/^## Four uses$([^]*?)^## /m
    .exec(README)?.[1]
    ?.matchAll(/^### (.+)$[^]*?^```ts\n([^]*?)^```$\n\n^```\n([^]*?)^```$/gm) ?? []),
].map(([, title = "", code = "", printed = ""]) => ({ title, code, printed }));

const folder = mkdtempSync(join(tmpdir(), "portcullis-fresh-"));
const clone = join(folder, "portcullis");
const project = join(folder, "project");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(command: string, args: readonly string[], cwd = project) {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const path = [dirname(process.execPath), env["PATH"]].join(delimiter);
  const options = { cwd, env: { ...env, PATH: path }, maxBuffer: 64 * 1024 * 1024 };
  try {
    return { code: 0, ...(await promisify(execFile)(command, args, options)) };
  } catch (error) {
    const { code, stdout, stderr } = error as {
      readonly code: number;
      readonly stdout: string;
      readonly stderr: string;
    };
    return { code, stdout, stderr };
  }
}

async function succeed(command: string, args: readonly string[], cwd?: string): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, cwd);
  expect(`${stdout}${stderr}`).toBe(code === 0 ? `${stdout}${stderr}` : "the output of a command that succeeds");
  return stdout;
}

const TSCONFIG = {
  compilerOptions: {
    target: "es2024",
    lib: ["es2024", "esnext.disposable", "esnext.collection", "esnext.iterator"],
    module: "nodenext",
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    allowImportingTsExtensions: true,
    types: ["node"],
  },
  include: ["*.ts", "examples"],
};

/** One mistake for each use, which the types find too, and what it says when it is run. */
const WRONG = [
  [
    "no-callers",
    `defineTool({ name: "crm.get", description: "x", input: z.object({}), effect: "read", handler: () => 1 });`,
    "allowedCallers",
  ],
  [
    "wrong-input",
    `const getStock = defineTool({ name: "warehouse.getStock", description: "x", input: z.object({ sku: z.string() }), allowedCallers: ["programmatic"], effect: "read", handler: () => 4 });
await using runtime = await createRuntime({ tools: [getStock] });
console.error((await runtime.execute({ sku: 9 })).output.text);`,
    "execute(program): expected source text",
  ],
  [
    "unknown-caller",
    `defineTool({ name: "orders.read", description: "x", input: z.object({}), allowedCallers: ["model"], effect: "read", handler: () => 1 });`,
    "allowedCallers",
  ],
  [
    "no-answer",
    `await using runtime = await createRuntime({ tools: [] });
await compare(runtime, { name: "x", question: "x", program: "return 1;" });`,
    "task.answer: expected the right answer",
  ],
] as const;

describe.skipIf(!ALL_TESTS)("a new project", { timeout: 600_000 }, () => {
  beforeAll(async () => {
    makeClone(clone);
    mkdirSync(join(project, "examples/movies"), { recursive: true });
    writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
    await succeed("sh", ["-ec", installation]);
    const further = ["openai", "@types/node"].map(withVersion);
    await succeed("npm", ["install", "--no-audit", "--no-fund", ...further]);
    for (const [index, { code }] of uses.entries()) writeFileSync(join(project, `use-${index + 1}.ts`), code);
    for (const file of ["movies/tools.ts", "pick.ts"])
      cpSync(join(root, "examples", file), join(project, "examples", file));
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify(TSCONFIG));
  }, 600_000);

  test("the line of the README installs it, and the four uses are four", () => {
    expect(installation).toContain("npm install ./portcullis-");
    expect(uses).toHaveLength(4);
  });

  test("the default demo runs without further packages, and other examples say what to install", async () => {
    const demo = await run("npx", ["portcullis", "demo"]);
    expect(demo.stdout).toContain("✓ right");
    expect([demo.code, demo.stderr]).toEqual([
      0,
      expect.stringContaining(
        `flights is left out: what it needs is not part of this package: npm install ${withVersion("vega-datasets")} ${withVersion("d3-dsv")}`,
      ),
    ]);
    for (const command of ["demo", "bench"]) {
      const { code, stdout, stderr } = await run("npx", ["portcullis", command, "movies"]);
      expect([code, stdout]).toEqual([5, ""]);
      expect(stderr).toContain(`npm install ${withVersion("vega-datasets")}`);
    }
  });

  test("bench measures what the package has, and says once which providers are left out", async () => {
    const { code, stdout } = await run("npx", ["portcullis", "bench", "licenses"]);
    expect(code).toBe(0);
    expect(stdout.match(/SDK is not installed: anthropic, gemini/g)).toHaveLength(1);
  });

  test("the four uses run, and print what the README says", async () => {
    await succeed("npm", ["install", "--no-audit", "--no-fund", withVersion("vega-datasets")]);
    for (const [index, { printed }] of uses.entries())
      expect(await succeed(process.execPath, ["--no-warnings", `use-${index + 1}.ts`])).toBe(printed);
  });

  test("they type-check under nodenext and strict, with the libraries' own types", async () => {
    expect(await succeed(join(bin, "tsc"), ["-p", "."])).toBe("");
  });

  test.each(WRONG)(
    "a wrong use, %s, is found by the types, and says at run what is wrong",
    async (name, code, sentence) => {
      const source = `import { createRuntime, defineTool } from "portcullis";
import { compare } from "portcullis/comparison";
import { z } from "zod";
void [createRuntime, defineTool, compare, z];
${code}
`;
      const file = join(project, `wrong-${name}.ts`);
      writeFileSync(file, source);
      const ran = await run(process.execPath, ["--no-warnings", file]);
      const checked = await run(join(bin, "tsc"), ["-p", "."]);
      rmSync(file);
      expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(sentence)]);
      expect(checked.stdout).toContain(`wrong-${name}.ts`);
    },
  );

  test("pnpm installs it, and leaves out no build script but that of isolated-vm", async () => {
    const other = join(folder, "with-pnpm");
    mkdirSync(other);
    writeFileSync(join(other, "package.json"), JSON.stringify({ private: true, type: "module" }));
    const tarball = readdirSync(project).find((file) => file.endsWith(".tgz")) ?? "";
    const { stdout, stderr } = await run(join(bin, "pnpm"), ["add", join(project, tarball), `zod@${zod}`], other);
    const ignored = /Ignored build scripts: ([^\n]+)/.exec(`${stdout}${stderr}`)?.[1] ?? "";
    const names = [...ignored.matchAll(/([\w@/-][\w./-]*)@\d/g)].map(([, name = ""]) => name);
    expect(names.filter((name) => name !== "isolated-vm")).toEqual([]);
    const { stdout: listed } = await run(join(bin, "pnpm"), ["exec", "portcullis", "--version"], other);
    expect(listed).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
