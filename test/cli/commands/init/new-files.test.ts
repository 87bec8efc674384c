import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import packageJson from "../../../../package.json" with { type: "json" };
import { packageNeeds, packageSource, writeNewFiles } from "../../../../src/cli/commands/init/init.ts";
import { root } from "../../command.ts";
import { newFolder } from "../../../support/new-folder.ts";

const folder = newFolder();
const version = packageJson.version;

/** An installation, as npm describes it in `node_modules`. */
function install(lock: unknown): string {
  const home = join(mkdtempSync(join(folder, "project-")), "node_modules/portcullis");
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "../.package-lock.json"), typeof lock === "string" ? lock : JSON.stringify(lock));
  return home;
}
const lockOf = (resolved: unknown) => ({ packages: { "node_modules/portcullis": { resolved } } });

describe("a new folder depends on the package from where this one is from", () => {
  test.each(["portcullis-0.1.0.tgz", "with a space.tgz"])("the tarball %s", (name) => {
    writeFileSync(join(folder, name), "");
    for (const written of [name, encodeURI(name)])
      expect(packageSource(install(lockOf(`file:../${written}`)), join(folder, "my/tools"))).toEqual({
        spec: `file:../../${name}`,
      });
  });

  test.each([
    ["a registry", lockOf(`https://registry.npmjs.org/portcullis/-/portcullis-${version}.tgz`)],
    ["a tarball that is gone", lockOf("file:../gone.tgz")],
    ["a lock without it", { packages: {} }],
    ["a lock of another form", { packages: { "node_modules/portcullis": { resolved: 4 } } }],
    ["a lock that is no JSON", "{"],
    ["a path that cannot be decoded", lockOf("file:../%E0%A4%A")],
  ])("%s: its version", (_, lock) => {
    expect(packageSource(install(lock), folder)).toEqual({ spec: `^${version}` });
  });

  test("a clone of the sources, which has to be packed first", () => {
    expect(packageSource(root, folder)).toEqual({ spec: `file:portcullis-${version}.tgz`, clone: root });
  });
});

test("the folder needs the versions that this package is tested with, and a server only for MCP clients", () => {
  const { dependencies, devDependencies } = packageNeeds({ spec: "file:../p.tgz" }, false);
  expect(dependencies).toEqual({ portcullis: "file:../p.tgz", zod: packageJson.peerDependencies.zod });
  expect(Object.keys(devDependencies)).toEqual(["@types/node", "typescript"]);
  expect(packageNeeds({ spec: "^1.0.0" }, true).dependencies).toHaveProperty(
    ["@modelcontextprotocol/server"],
    packageJson.peerDependencies["@modelcontextprotocol/server"],
  );
});

let mine = "";
beforeEach(() => {
  mine = join(mkdtempSync(join(folder, "case-")), "mine");
});

const FILES = [
  { name: "tools.ts", text: "tools" },
  { name: "program.js", text: "program" },
];
const refused = (exitCode: number, message: string) =>
  expect.objectContaining({ exitCode, message: expect.stringContaining(message) as string }) as Error;

test("writes its files to a folder that it makes, with those above it, or that is empty but for a repository", () => {
  mkdirSync(join(mine, ".git"), { recursive: true });
  for (const own of [mine, join(mine, "a/b")]) {
    if (own !== mine) expect(() => writeNewFiles(mine, FILES)).toThrow(refused(2, "is not empty"));
    writeNewFiles(own, FILES);
    expect(readFileSync(join(own, "tools.ts"), "utf8")).toBe("tools");
  }
});

test("a file that another process makes meanwhile stays as it is, and none of the command's own stays", () => {
  const second = {
    name: "program.js",
    get text() {
      writeFileSync(join(mine, "program.js"), "theirs");
      return "mine";
    },
  };
  expect(() => writeNewFiles(mine, [FILES[0]!, second])).toThrow(refused(5, "EEXIST"));
  expect(readdirSync(mine)).toEqual(["program.js"]);
  expect(readFileSync(join(mine, "program.js"), "utf8")).toBe("theirs");
});

test("a folder that other users may write to, a file, and a name that cannot be printed are refused", () => {
  mkdirSync(mine);
  chmodSync(mine, 0o1777);
  expect(() => writeNewFiles(mine, FILES)).toThrow(refused(2, "other users may write"));
  expect(readdirSync(mine)).toEqual([]);
  writeFileSync(`${mine}-file`, "mine");
  expect(() => writeNewFiles(`${mine}-file`, FILES)).toThrow(refused(5, "cannot be written"));
  for (const name of ["", "new\nline", "\u001b[2J", "ann\u202egnp"])
    expect(() => writeNewFiles(name, FILES)).toThrow(refused(2, "expected a folder"));
});
