import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { refuseShared } from "../../../../src/cli/commands/init/shared-folder.ts";
import { writeNewFiles } from "../../../../src/cli/commands/init/new-files.ts";

const root = mkdtempSync(join(realpathSync(tmpdir()), "portcullis-shared-"));
afterAll(() => rmSync(root, { recursive: true }));

const STICKY = 0o1777;
let place = "";
beforeEach(() => {
  place = mkdtempSync(join(root, "case-"));
});

function made(path: string, mode = 0o755): string {
  const whole = join(place, path);
  mkdirSync(whole, { recursive: true });
  chmodSync(whole, mode);
  return whole;
}

test("a folder that all may write to is refused, also with the bit that keeps entries to their owners", () => {
  for (const mode of [0o777, STICKY]) {
    const folder = made("open", mode);
    expect(() => writeNewFiles(folder, [{ name: "tools.ts", text: "" }])).toThrow(
      "all users of this machine may write",
    );
    expect(existsSync(join(folder, "tools.ts"))).toBe(false);
  }
});

test("a folder that any user could replace is refused, and one below a folder like /tmp is not", () => {
  made("temporary/mine/deep");
  const folder = join(place, "temporary/mine/deep");
  chmodSync(join(place, "temporary"), 0o777);
  expect(() => refuseShared(folder)).toThrow(`may replace what is in ${place}/temporary`);
  chmodSync(join(place, "temporary"), STICKY);
  for (const own of [folder, join(place, "temporary/mine/new"), join(place, "temporary/new")])
    expect(() => refuseShared(own)).not.toThrow();
});

test.skipIf(process.geteuid?.() !== 0)("a folder is refused that another user has made where all may make one", () => {
  const theirs = made("temporary/theirs");
  chownSync(theirs, 65_534, 65_534);
  chmodSync(join(place, "temporary"), STICKY);
  for (const folder of [theirs, join(theirs, "new/below")])
    expect(() => refuseShared(folder)).toThrow(`${theirs} belongs to another user`);
  chmodSync(join(place, "temporary"), 0o755);
  expect(() => refuseShared(theirs)).not.toThrow();
});
