import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { root } from "../support/snippets.ts";
import { expectPageHolds } from "./follow-page.ts";

const parent = mkdtempSync(join(tmpdir(), "portcullis-start-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

const CLI = ["--no-warnings", "--conditions=portcullis-source", join(root, "src/cli.ts")];

// The same on the tarball: test/package/package.all.test.ts.
test("Start here can be followed on the sources, and its refund is paid once", { timeout: 180_000 }, async () => {
  const bin = join(parent, "first", "node_modules", ".bin");
  const makeFolder = async (commands: string) => {
    expect(commands).toMatch(/ portcullis init first\ncd first && npm install\n$/);
    await promisify(execFile)(process.execPath, [...CLI, "init", "first"], { cwd: parent });
    const packages = join(parent, "first", "node_modules");
    mkdirSync(bin, { recursive: true });
    symlinkSync(root, join(packages, "portcullis"));
    symlinkSync(join(root, "node_modules/zod"), join(packages, "zod"));
    const quoted = [process.execPath, ...CLI].map((part) => `"${part}"`).join(" ");
    writeFileSync(join(bin, "portcullis"), `#!/bin/sh\nexec ${quoted} "$@"\n`);
    chmodSync(join(bin, "portcullis"), 0o755);
    return join(parent, "first");
  };
  const { NODE_OPTIONS: _, ...env } = process.env;
  await expectPageHolds(makeFolder, { ...env, PATH: [bin, env["PATH"]].join(delimiter) });
});
