import { execFile } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { testOfAll } from "../support/all-tests.ts";
import { root } from "../support/snippets.ts";

/* What `make` installs, with an npm that only notes what it is asked for. */

const NPM = `#!/usr/bin/env node
const { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
const args = process.argv.slice(2);
const asked = args.filter((arg) => !/^--(no-audit|no-fund|no-progress|loglevel=error)$/.test(arg));
appendFileSync("npm.log", asked.join(" ") + "\\n");
if (process.env.NPM_FAILS) { process.stderr.write("npm error code ENOTFOUND\\n"); process.exit(7); }
rmSync("node_modules", { recursive: true, force: true });
mkdirSync("node_modules");
const has = (option) => asked.includes(option);
for (const folder of Object.keys(JSON.parse(readFileSync("package-lock.json", "utf8")).packages))
  if (folder.endsWith("/zod") || (folder.endsWith("/vitest") && !has("--omit=dev")) || (folder.endsWith("/effect") && !has("--workspaces=false"))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(folder + "/package.json", "{}");
  }
`;

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-make-"));
  for (const file of ["Makefile", "install-packages.js"]) cpSync(join(root, file), join(folder, file));
  const packages = {
    "": { dependencies: { zod: "4" }, devDependencies: { vitest: "5" } },
    "node_modules/effect": {},
    "node_modules/vitest": { dependencies: { zod: "4" } },
    "node_modules/zod": {},
    "test/integrations": { devDependencies: { effect: "4" } },
  };
  for (const place of [".", "test/integrations", "bridge/globals", "page", "test/packagers"]) {
    mkdirSync(join(folder, place), { recursive: true });
    writeFileSync(join(folder, place, "package.json"), '{"type":"module"}');
    writeFileSync(
      join(folder, place, "package-lock.json"),
      JSON.stringify({ packages: place === "." ? packages : {} }),
    );
  }
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin/package.json"), "{}");
  for (const [name, text] of [
    ["npm", NPM],
    ["vitest", "#!/bin/sh\n"],
  ] as const) {
    writeFileSync(join(folder, "bin", name), text);
    chmodSync(join(folder, "bin", name), 0o755);
  }
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs make, and gives what it said of its installations, and what npm was asked for in all. */
async function make(targets: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const path = [join(folder, "bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const args = ["-s", "-C", folder, "NODE_CLI=true", ...targets];
  const { MAKEFLAGS: _, MFLAGS: __, ...rest } = process.env;
  const ran = await promisify(execFile)("make", args, { env: { ...rest, PATH: path, ...env } }).then(
    ({ stderr }) => ({ code: 0, stderr }),
    ({ code, stderr }: { readonly code: number; readonly stderr: string }) => ({ code, stderr }),
  );
  const log = join(folder, "npm.log");
  return { ...ran, npm: existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [] };
}

const DEMO = "ci --workspaces=false --omit=dev";
const TESTS = "ci --workspaces=false";

testOfAll(
  "make demo installs what the demo needs, and says so before and after; the next one installs nothing",
  async () => {
    const { stderr, npm } = await make(["demo"]);
    expect(npm).toEqual([DEMO]);
    expect(stderr).toMatch(/^Installing the 1 packages that the demo needs, .*\n1 packages in \d+ s\.\n$/);
    expect(await make(["demo"])).toMatchObject({ code: 0, stderr: "", npm: [DEMO] });
  },
);

test("make test after make demo installs what tests need, and make demo after it leaves them", async () => {
  await make(["demo"]);
  const { stderr, npm } = await make(["test"]);
  expect(npm).toEqual([DEMO, TESTS]);
  expect(stderr).toMatch(/^Installing the 2 packages that tests need, .*\n2 packages in \d+ s\.\n$/);
  expect((await make(["demo"])).npm).toHaveLength(2);
});

testOfAll(
  "make packages installs all, those of bundlers and packagers in their folders, and what comes after leaves them",
  async () => {
    await make(["test"]);
    const { stderr, npm } = await make(["packages"]);
    expect(npm).toEqual([TESTS, "ci"]);
    expect(stderr).toMatch(
      /^Installing the 3 packages of tests, integrations and checks, .*\n3 packages in \d+ s\.\n$/,
    );
    for (const place of ["bridge/globals", "page", "test/packagers"])
      expect(readFileSync(join(folder, place, "npm.log"), "utf8")).toBe("ci --prefer-offline\n");
    expect((await make(["test"])).npm).toHaveLength(2);
    expect((await make(["demo", "packages"])).npm).toHaveLength(2);
  },
);

testOfAll.each([
  [["demo", "test"], TESTS],
  [["test", "packages"], "ci"],
])("make %j, in either order, installs once", async (targets, installation) => {
  expect((await make(targets)).npm).toEqual([installation]);
});

testOfAll.each([
  ["test", TESTS],
  ["packages", "ci"],
])("after make %s a lock that has changed is installed again as it was", async (target, installation) => {
  await make([target]);
  const later = new Date(Date.now() + 60_000);
  utimesSync(join(folder, "package-lock.json"), later, later);
  expect((await make(["demo"])).npm).toEqual([installation, installation]);
});

test("an installation that fails says what npm said, and is made again", async () => {
  const { code, stderr } = await make(["demo"], { NPM_FAILS: "1" });
  expect(code).toBe(2);
  expect(stderr).toMatch(/npm error code ENOTFOUND\nNot installed: npm ended with 7 after \d+ s\.\n/);
  expect((await make(["demo"])).npm).toEqual([DEMO, DEMO]);
});

test("the demo needs as many megabytes as make says before", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly link?: boolean }>>;
  };
  const folders = Object.keys(packages).filter(
    (path) => path.startsWith("node_modules/") && packages[path]?.dev !== true && packages[path]?.link !== true,
  );
  const bytes = folders
    .flatMap((path) => {
      const entries = readdirSync(join(root, path), { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map((entry) => statSync(join(entry.parentPath, entry.name)));
    })
    .reduce((sum, { size }) => sum + Math.ceil(size / 4096) * 4096, 0);
  const [, said = ""] =
    /that the demo needs, (\d+) MB/.exec(readFileSync(join(root, "install-packages.js"), "utf8")) ?? [];
  expect(Math.abs(bytes / 1e6 - Number(said))).toBeLessThan(3);
});

test("a contributor installs at most forty packages, and those that these need", () => {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly devDependencies: object;
  };
  expect(Object.keys(devDependencies).length).toBeLessThanOrEqual(40);
});
