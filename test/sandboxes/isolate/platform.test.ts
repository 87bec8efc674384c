import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  isSupportedRuntime,
  NODE_SENTENCE,
  PLATFORMS,
  whyNoAddon,
  whyOldAddon,
} from "../../../src/sandboxes/isolate/platform.ts";

const root = new URL("../../../", import.meta.url);
const inOneLine = (path: string) => readFileSync(new URL(path, root), "utf8").replaceAll(/\s+/g, " ");
const versions = (more: Partial<NodeJS.ProcessVersions>) => ({ ...process.versions, ...more });

test("the sentence about node's versions is the same in README and docs", () => {
  for (const path of ["README.md", "docs/operating.md"]) expect(inOneLine(path)).toContain(NODE_SENTENCE);
});

const prebuilds = new URL("node_modules/isolated-vm/prebuilds/", root);

test("platforms with binaries are those of isolated-vm, and the table of the documents has each", () => {
  expect(PLATFORMS.toSorted()).toEqual(readdirSync(prebuilds).toSorted());
  for (const name of PLATFORMS) expect(inOneLine("docs/operating.md")).toContain(`\`${name}\``);
});

test("versions of node that count as supported have a binary for each platform, and others have none", () => {
  for (const folder of readdirSync(prebuilds)) {
    const files = readdirSync(new URL(`${folder}/`, prebuilds)).join();
    expect(["abi127", "abi137", "abi147"].map((abi) => files.includes(abi))).toEqual([false, true, true]);
  }
  expect(
    ["22.23.3", "24.21.0", "25.0.0", "26.3.0"].map((node) => isSupportedRuntime({ versions: versions({ node }) })),
  ).toEqual([false, true, false, true]);
});

test.each([
  ["bun", "Bun"],
  ["deno", "Deno"],
])("%s, which reports a supported version of node, gets the sentence", (name, shown) => {
  const host = {
    platform: process.platform,
    arch: process.arch,
    versions: versions({ node: "26.3.0", [name]: "9.9.9" }),
  };
  expect(isSupportedRuntime(host)).toBe(false);
  expect(whyNoAddon(host)).toBe(`This is ${shown} 9.9.9. ${NODE_SENTENCE}`);
});

test("GHSA-864f-rcv7-6rh4: versions of isolated-vm with this escape run no program, and the sentence says what to install", () => {
  for (const version of ["4.7.2", "6.1.2", "7.0.0", "7.0.0-beta.1", "6.9.9", "7.0.1-rc.1", "next", ""])
    expect(whyOldAddon(version), version).toContain("npm install isolated-vm@7.0.1");
  for (const version of ["7.0.1", "7.0.2", "7.0.10", "7.1.0", "7.1.0-beta.1", "8.0.0", "10.0.0", "7.0.1+build"])
    expect(whyOldAddon(version), version).toBeUndefined();
});
