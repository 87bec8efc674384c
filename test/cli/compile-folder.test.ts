import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { compileFolder } from "../../src/cli/compile-folder.ts";
import { someOf } from "../support/all-tests.ts";
import { root } from "./command.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
afterAll(() => rmSync(folder, { recursive: true }));

const STRANGER = 65_534;
let made = 0;

/** A new home with this mode. */
function home(mode = 0o755): string {
  const path = join(folder, `home-${(made += 1)}`);
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
}

const inHome = (path: string) => compileFolder("", () => path);

describe.skipIf(process.platform === "win32")("the folder of compiled code", () => {
  test("is the user's own, in the home or where the user keeps caches", () => {
    const own = home();
    const found = inHome(own);
    expect(found).toBe(join(own, ".cache/portcullis/compile"));
    // oxlint-disable-next-line no-bitwise -- the bits of a mode
    expect(statSync(found ?? "").mode & 0o777).toBe(0o700);
    expect(inHome(own)).toBe(found);
    expect(compileFolder(own, () => "/none")).toBe(join(own, "portcullis/compile"));
  });

  test("is none without a home, or in one that is no place of the user's", () => {
    const failing = () => {
      throw new Error("uv_os_homedir returned ENOENT");
    };
    expect(compileFolder("", failing)).toBeUndefined();
    for (const path of ["", ".", "relative", "/dev/null", "/proc"]) expect(inHome(path)).toBeUndefined();
  });

  test("is never in the folder that a command is started in", () => {
    const own = home();
    expect(compileFolder("relative", () => own)).toBe(join(own, ".cache/portcullis/compile"));
    expect(existsSync("relative")).toBe(false);
  });

  test.each([0o777, 0o775, 0o757])("is none below a folder of mode %o, and nothing is made there", (mode) => {
    const shared = home(mode);
    expect(inHome(shared)).toBeUndefined();
    expect(readdirSync(shared)).toEqual([]);
  });

  test.each([".cache", ".cache/portcullis", ".cache/portcullis/compile"])(
    "is none if others may write to %s",
    (path) => {
      for (const mode of [0o777, 0o775, ...(path.endsWith("compile") ? [0o1777] : [])]) {
        const own = home();
        mkdirSync(join(own, path), { recursive: true });
        chmodSync(join(own, path), mode);
        expect(inHome(own)).toBeUndefined();
      }
    },
  );

  test("is the folder that a link leads to now, for the link may lead elsewhere later", () => {
    const [own, other, shared] = [home(), home(), home(0o777)];
    symlinkSync(other, join(own, ".cache"));
    expect(inHome(own)).toBe(join(other, "portcullis/compile"));
    rmSync(join(own, ".cache"));
    symlinkSync(shared, join(own, ".cache"));
    expect(inHome(own)).toBeUndefined();
  });

  describe.skipIf(process.geteuid?.() !== 0)("of another user", () => {
    test.each(["", ".cache", ".cache/portcullis", ".cache/portcullis/compile"])("is none (%j)", (path) => {
      const own = home();
      mkdirSync(join(own, path), { recursive: true });
      chownSync(join(own, path), STRANGER, STRANGER);
      const before = readdirSync(own, { recursive: true });
      expect(inHome(own)).toBeUndefined();
      expect(readdirSync(own, { recursive: true })).toEqual(before);
    });
  });

  test("a command starts without a home, and keeps code only where it may", () => {
    const [own, shared] = [home(), home(0o777)];
    for (const path of someOf([own, shared, "", "relative"], 2)) {
      const env = { ...process.env, HOME: path, XDG_CACHE_HOME: "" };
      const args = ["--conditions=portcullis-source", "src/cli.ts", "--version"];
      expect(String(execFileSync(process.execPath, args, { cwd: root, env }))).toMatch(/^\d/);
    }
    expect([own, shared].map((path) => existsSync(join(path, ".cache/portcullis/compile")))).toEqual([true, false]);
    expect(existsSync(join(root, "relative"))).toBe(false);
  });
});
