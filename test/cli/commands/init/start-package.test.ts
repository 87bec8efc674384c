import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import packageJson from "../../../../package.json" with { type: "json" };
import { needsOf, sourceOf } from "../../../../src/cli/commands/init/init.ts";
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
      expect(sourceOf(install(lockOf(`file:../${written}`)), join(folder, "my/tools"))).toEqual({
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
    expect(sourceOf(install(lock), folder)).toEqual({ spec: `^${version}` });
  });

  test("a clone of the sources, which has to be packed first", () => {
    expect(sourceOf(root, folder)).toEqual({ spec: `file:portcullis-${version}.tgz`, clone: root });
  });
});

test("the folder needs the versions that this package is tested with, and a server only for MCP clients", () => {
  const { dependencies, devDependencies } = needsOf({ spec: "file:../p.tgz" }, false);
  expect(dependencies).toEqual({ portcullis: "file:../p.tgz", zod: packageJson.peerDependencies.zod });
  expect(Object.keys(devDependencies)).toEqual(["@types/node", "typescript"]);
  expect(needsOf({ spec: "^1.0.0" }, true).dependencies).toHaveProperty(
    ["@modelcontextprotocol/server"],
    packageJson.peerDependencies["@modelcontextprotocol/server"],
  );
});
