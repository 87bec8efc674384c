import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { makeClone } from "../support/make-clone.ts";
import { root } from "../support/snippets.ts";
import { run, succeed, TSCONFIG } from "./project.ts";

/* The tarball once: packed, installed with the versions of the lock, type-checked and run. All of it: package.all.test.ts. */

const parent = mkdtempSync(join(tmpdir(), "portcullis-tarball-"));
afterAll(() => rmSync(parent, { recursive: true, force: true, maxRetries: 5 }));
/** The path of this folder must be encoded in a URL. */
const project = join(parent, "ein Ordner für 100%41");

const TYPES = ["@types/node", "undici-types"];
const PROGRAM = `import { createRuntime, type Report } from "portcullis";
import { createMemoryJournal } from "portcullis/journal";
import tools from "./tools.ts";

const journal = createMemoryJournal();
await using runtime = await createRuntime({ tools, journal });
const report: Report = await runtime.execute("const a: number = 1; return await tools.math.add({ a, b: 2 });");
console.log(report.output.text);
`;

interface Locked {
  readonly version: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  /** Whether it is a folder of this repository. */
  readonly link?: boolean;
}

/** The packages that an install brings, and the types of node, as the lock of this package has them. */
function lockedPackages(): Readonly<Record<string, Locked>> {
  const text = readFileSync(join(root, "package-lock.json"), "utf8");
  const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, Locked>> };
  const isOurs = ([path, { dev, devOptional, link }]: readonly [string, Locked]) =>
    path.startsWith("node_modules/") &&
    !link &&
    ((dev !== true && devOptional !== true) || TYPES.some((name) => path === `node_modules/${name}`));
  return Object.fromEntries(Object.entries(packages).filter(isOurs));
}

/** Writes a project that has the tarball, with a lock: npm asks the registry for nothing that its cache has. */
function writeProject(tarball: string): void {
  const locked = lockedPackages();
  const own = { portcullis: `file:${tarball}`, zod: packageJson.peerDependencies.zod };
  const types = { "@types/node": packageJson.devDependencies["@types/node"] };
  const top = { dependencies: own, devDependencies: types };
  const { name, version, bin, engines, license, dependencies, peerDependencies, peerDependenciesMeta } = packageJson;
  const installed = {
    name,
    version,
    resolved: own.portcullis,
    bin,
    engines,
    license,
    dependencies,
    peerDependencies,
    peerDependenciesMeta,
  };
  const packages = { "": top, ...locked, "node_modules/portcullis": installed };
  const files = {
    "package.json": { private: true, type: "module", ...top },
    "package-lock.json": { lockfileVersion: 3, packages },
    "tsconfig.json": TSCONFIG,
  };
  for (const [file, content] of Object.entries(files)) writeFileSync(join(project, file), JSON.stringify(content));
  cpSync(join(import.meta.dirname, "uses/tools.ts"), join(project, "tools.ts"));
  writeFileSync(join(project, "main.ts"), PROGRAM);
  writeFileSync(join(project, "program.js"), "return await tools.math.add({ a: 3, b: 4 });");
}

/** A clone whose declarations are written without a check of types: `tsc` of `make check` has made it. */
function makeCheckedClone(clone: string): void {
  makeClone(clone);
  const file = join(clone, "tsconfig.dist.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as { readonly compilerOptions: object };
  writeFileSync(file, JSON.stringify({ ...config, compilerOptions: { ...config.compilerOptions, noCheck: true } }));
}

/** What npm says where the registry cannot be reached. */
const NO_NETWORK = /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|ECONNRESET)\b/;

const TITLE =
  "the tarball installs, type-checks, and runs a program and a command, also in a folder whose path a URL encodes";
// Packing compiles all sources.
test(TITLE, { timeout: 300_000 }, async (context) => {
  makeCheckedClone(join(parent, "portcullis"));
  mkdirSync(project);
  await succeed("npm", ["pack", join(parent, "portcullis"), "--loglevel=error"], project);
  writeProject(readdirSync(project).find((file) => file.endsWith(".tgz")) ?? "");
  const installed = await run(
    "npm",
    ["ci", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"],
    project,
  );
  if (NO_NETWORK.test(installed.stderr))
    context.skip("the registry of npm cannot be reached, and its cache lacks a package");
  expect(installed).toMatchObject({ code: 0 });

  const typed = await run(join(root, "node_modules/.bin/tsc"), ["-p", "."], project);
  expect(typed).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await succeed(process.execPath, ["--no-warnings", "main.ts"], project)).toBe("3\n");
  const command = ["node_modules/.bin/portcullis", "run", "program.js", "--tools", "tools.ts"];
  expect(await succeed(process.execPath, command, project)).toBe("7\n");
});
