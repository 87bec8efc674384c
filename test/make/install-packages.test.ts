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
const [command, option] = args.filter((arg) => !/^--(no-audit|no-fund|no-progress|loglevel=error)$/.test(arg));
appendFileSync("npm.log", [command, option].join(" ").trim() + "\\n");
if (process.env.NPM_FAILS) { process.stderr.write("npm error code ENOTFOUND\\n"); process.exit(7); }
rmSync("node_modules", { recursive: true, force: true });
for (const [folder, { dev }] of Object.entries(JSON.parse(readFileSync("package-lock.json", "utf8")).packages))
  if (folder !== "" && !(dev && option === "--omit=dev")) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(folder + "/package.json", "{}");
  }
`;

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-make-"));
  for (const file of ["Makefile", "install-packages.js"]) cpSync(join(root, file), join(folder, file));
  const lock = { packages: { "": {}, "node_modules/zod": {}, "node_modules/vitest": { dev: true } } };
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
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

testOfAll(
  "make demo installs what the demo needs, and says so before and after; the next one installs nothing",
  async () => {
    const { stderr, npm } = await make(["demo"]);
    expect(npm).toEqual(["ci --omit=dev"]);
    expect(stderr).toMatch(/^Installing the 1 packages that the demo needs, .*\n1 packages in \d+ s\.\n$/);
    expect(await make(["demo"])).toMatchObject({ code: 0, stderr: "", npm: ["ci --omit=dev"] });
  },
);

test("make test after make demo installs all packages, and make demo after it leaves them", async () => {
  await make(["demo"]);
  const { stderr, npm } = await make(["test"]);
  expect(npm).toEqual(["ci --omit=dev", "ci"]);
  expect(stderr).toMatch(/^Installing all 2 packages, .*\n2 packages in \d+ s\.\n$/);
  expect((await make(["demo"])).npm).toHaveLength(2);
  expect((await make(["test", "packages"])).npm).toHaveLength(2);
});

testOfAll("make demo test, in either order, installs once", async () => {
  expect((await make(["demo", "test"])).npm).toEqual(["ci"]);
});

testOfAll("a lock that has changed is installed again: all packages where all were installed", async () => {
  await make(["test"]);
  const later = new Date(Date.now() + 60_000);
  utimesSync(join(folder, "package-lock.json"), later, later);
  expect((await make(["demo"])).npm).toEqual(["ci", "ci"]);
});

test("an installation that fails says what npm said, and is made again", async () => {
  const { code, stderr } = await make(["demo"], { NPM_FAILS: "1" });
  expect(code).toBe(2);
  expect(stderr).toMatch(/npm error code ENOTFOUND\nNot installed: npm ended with 7 after \d+ s\.\n/);
  expect((await make(["demo"])).npm).toEqual(["ci --omit=dev", "ci --omit=dev"]);
});

test("the demo needs as many megabytes as make says before", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
  };
  const folders = Object.keys(packages).filter((path) => path !== "" && packages[path]?.dev !== true);
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
