import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { someOf, testOfAll } from "../support/all-tests.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const SOURCE = "portcullis-source";
const OTHER_EXTERNALS = [
  "isolated-vm",
  "dockerode",
  "@anthropic-ai/sdk",
  "openai",
  "@google/genai",
  "@modelcontextprotocol/client",
  "pg",
];
/** TypeScript, so that the thread that strips types is found as well. */
const APP = `
  import { createRuntime, defineTool } from "portcullis";
  import { countTokens } from "portcullis/comparison";
  import { z } from "zod";

  const add = defineTool({
    name: "math.add",
    description: "Sum",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: ({ a, b }) => a + b,
  });
  async function main() {
    await using runtime = await createRuntime({ tools: [add] });
    const { output } = await runtime.execute("const a: number = 2; return tools.math.add({ a, b: 3 });");
    console.log(output.text, countTokens("hello world"));
  }
  main().catch((error) => console.log(error.code, error.message));
`;

/** A folder of an app that has the package installed, and zod. */
let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-bundle-"));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules/portcullis"));
  for (const name of ["zod", ...OTHER_EXTERNALS])
    symlinkSync(join(root, "node_modules", name), join(mkdir(name), name.split("/").at(-1) ?? ""));
  writeFileSync(join(folder, "app.js"), APP);
});
afterAll(() => rmSync(folder, { recursive: true }));

function mkdir(name: string): string {
  const [scope, bare] = name.split("/");
  const parent = join(folder, "node_modules", bare === undefined ? "" : (scope ?? ""));
  mkdirSync(parent, { recursive: true });
  return parent;
}

async function run(file: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [`--conditions=${SOURCE}`, file], { cwd: folder });
  return stdout.trim();
}

/** Builds the app with esbuild, and returns what it prints. */
async function runEsbuild(format: "esm" | "cjs", external: readonly string[], name: string): Promise<string> {
  const outfile = join(folder, `${name}.${format === "esm" ? "mjs" : "cjs"}`);
  await build({
    entryPoints: [join(folder, "app.js")],
    outfile,
    format,
    external: [...external],
    bundle: true,
    platform: "node",
    target: "node24",
    conditions: [SOURCE],
    logLevel: "silent",
  });
  return run(outfile);
}

async function runWebpack(): Promise<string> {
  const { default: webpack } = await import("webpack");
  const path = join(folder, "webpack");
  const compiler = webpack({
    mode: "none",
    target: "node24",
    context: folder,
    entry: "./app.js",
    externals: ["portcullis", /^portcullis\//],
    externalsType: "module",
    experiments: { outputModule: true },
    output: { path, filename: "app.mjs", module: true },
  });
  const problems = await new Promise<string>((resolve, reject) =>
    compiler?.run((error, stats) =>
      error ? reject(error) : resolve(stats?.toString({ all: false, errors: true, warnings: true }) ?? ""),
    ),
  );
  expect(problems).toBe("");
  return run(join(path, "app.mjs"));
}

test.each(someOf(["esm", "cjs"] as const, 1))(
  "an app that esbuild bundles as %s, with portcullis external, runs",
  async (format) => {
    expect(await runEsbuild(format, ["portcullis"], "external")).toBe("5 2");
  },
);

testOfAll("an app that webpack bundles, with portcullis external, runs", async () => {
  expect(await runWebpack()).toBe("5 2");
});

testOfAll.each(someOf(["esm", "cjs"] as const, 1))(
  "where the package itself is bundled as %s, the runtime says that it must be external",
  async (format) => {
    const app = await runEsbuild(format, OTHER_EXTERNALS, "bundled");
    expect(app).toMatch(/^sandbox_unavailable .*name portcullis as external/);
  },
);
