import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, test } from "vitest";
import { root } from "../support/snippets.ts";
import { expectPageHolds } from "./follow-page.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-start-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// The same on the installed tarball: test/package/package.test.ts.
test("Start here can be followed on the sources, and its refund is paid once", { timeout: 180_000 }, async () => {
  const packages = join(folder, "node_modules");
  const bin = join(packages, ".bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  symlinkSync(root, join(packages, "portcullis"));
  symlinkSync(join(root, "node_modules/zod"), join(packages, "zod"));
  const command = `"${process.execPath}" --no-warnings --conditions=portcullis-source "${join(root, "src/cli.ts")}" "$@"`;
  writeFileSync(join(bin, "portcullis"), `#!/bin/sh\nexec ${command}\n`);
  chmodSync(join(bin, "portcullis"), 0o755);
  const { NODE_OPTIONS: _, ...env } = process.env;
  await expectPageHolds(folder, { ...env, PATH: [bin, env["PATH"]].join(delimiter) });
});
