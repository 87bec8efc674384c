import { execFile, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { makeBridgePipes } from "../../../../src/sandboxes/docker/container/container.ts";
import { Daemon } from "../../../../src/sandboxes/docker/daemon.ts";
import {
  makeMountedFolder,
  removeLeftFolders,
  removeMountedFolder,
} from "../../../../src/sandboxes/docker/container/mounted-folder.ts";
import { hostMachine, hostProcess } from "../../../../src/sandboxes/host-process.ts";
import { newFolder } from "../../../support/new-folder.ts";

const run = promisify(execFile);
/** Another user of this machine, whom only root can stand in for. */
const OTHER = 65534;
/** A host that is gone: no kernel gives out such an id. */
const GONE = "999999999:1";
const canBeOthers = process.getuid?.() === 0 && spawnSync("setpriv", ["--version"]).status === 0;

/** Runs a shell command as another user; resolves with whether it could be done. */
async function asOther(command: string, ...words: readonly string[]): Promise<boolean> {
  const user = ["--reuid", `${OTHER}`, "--regid", `${OTHER}`, "--clear-groups"];
  return run("setpriv", [...user, "sh", "-c", command, "sh", ...words]).then(
    () => true,
    () => false,
  );
}

/** Where this process keeps temporary files in this test: a folder that every user may write to, as /tmp is. */
let shared = "";

beforeEach(() => {
  shared = newFolder(onTestFinished);
  chmodSync(shared, 0o1777);
  vi.stubEnv("TMPDIR", shared);
});

afterEach(() => {
  vi.unstubAllEnvs();
});

/** A folder such as a host that is gone has left behind, with a pipe in it; or another host, of the same machine or another. */
function leftFolder(host = GONE, machine = hostMachine()): string {
  const folder = makeMountedFolder();
  writeFileSync(join(folder, "pipe"), "");
  const owner = join(dirname(folder), "host");
  expect(readFileSync(owner, "utf8")).toBe(`${hostMachine()} ${hostProcess()}`);
  writeFileSync(owner, `${machine} ${host}`);
  return basename(dirname(folder));
}

test("the name of a folder, which its container sees, tells nothing of the host", () => {
  const outer = basename(dirname(makeMountedFolder()));
  expect(outer).toMatch(/^portcullis-mounted-\w{6}$/);
});

test("two folders of one process have unpredictable names, and leave nothing behind", () => {
  const folders = [makeMountedFolder(), makeMountedFolder()];
  const outers = folders.map(dirname);
  expect(new Set(outers).size).toBe(2);
  for (const outer of outers) {
    expect(lstatSync(outer).mode & 0o777).toBe(0o700);
    expect(lstatSync(outer).uid).toBe(process.geteuid?.());
  }
  folders.forEach(removeMountedFolder);
  expect(readdirSync(shared)).toEqual([]);
});

test("folders of hosts that have ended are removed, and those of other hosts or another form are kept", () => {
  leftFolder();
  const kept = [leftFolder(hostProcess()), leftFolder(GONE, "another/machine"), leftFolder("nonsense")];
  const other = join(shared, "kept");
  mkdirSync(other, { mode: 0o700 });
  writeFileSync(join(other, "host"), `${hostMachine()} ${GONE}`);
  symlinkSync(other, join(shared, "portcullis-mounted-link"));
  const open = leftFolder();
  chmodSync(join(shared, open), 0o755);
  writeFileSync(join(shared, "portcullis-mounted-file"), "");
  removeLeftFolders();
  expect(readdirSync(shared).toSorted()).toEqual(
    [...kept, open, "kept", "portcullis-mounted-link", "portcullis-mounted-file"].toSorted(),
  );
  expect(readdirSync(other)).toEqual(["host"]);
});

test("the pipes of a bridge are pipes, and go with their folder", async () => {
  const pipes = await makeBridgePipes();
  for (const name of ["in", "out"]) expect(lstatSync(join(pipes.folder, name)).isFIFO()).toBe(true);
  pipes.close();
  expect(readdirSync(shared)).toEqual([]);
});

test("a missing folder for temporary files is reported with a sentence, and not as a fault of the daemon", () => {
  vi.stubEnv("TMPDIR", join(shared, "nowhere"));
  expect(() => removeLeftFolders()).not.toThrow();
  expect(() => makeMountedFolder()).toThrow(
    /^The folder for temporary files, \S+\/nowhere, cannot be used for containers: ENOENT.* Set TMPDIR to a folder of this user's own\.$/,
  );
});

test("a file that this user may not use is not reported as the daemon", () => {
  const refused = Object.assign(new Error("EACCES: permission denied, open '/secret'"), {
    code: "EACCES",
    path: "/secret",
  });
  expect(new Daemon().unavailable(refused).message).toContain("EACCES: permission denied, open '/secret'");
});

test("no folder is made where other users may replace it", () => {
  chmodSync(shared, 0o777);
  expect(() => makeMountedFolder()).toThrow(/other users .*TMPDIR/);
  expect(readdirSync(shared)).toEqual([]);
});

describe.skipIf(!canBeOthers)("another user of this machine", () => {
  test("cannot list the folder, pass through it or open a pipe", async () => {
    const pipes = await makeBridgePipes();
    const outer = dirname(pipes.folder);
    expect(await asOther('ls "$1"', shared)).toBe(true);
    const commands = [
      'ls "$1"',
      'ls "$2"',
      'stat "$2/in"',
      'echo forged 1<>"$2/out"',
      ': <>"$2/in"',
      'touch "$1/x"',
      'mv "$1" "$1.mine"',
      'rmdir "$1"',
      'chmod 777 "$1"',
    ];
    // Whether any of them can be done.
    expect(await asOther(commands.map((command) => `( ${command} )`).join(" || "), outer, pipes.folder)).toBe(false);
    pipes.close();
  });

  test("that has made a folder under every predictable name gets nothing in it", async () => {
    const names = [`portcullis-mounted-${hostProcess()}`, `portcullis-mounted-${process.pid}`, "portcullis-mounted-"];
    expect(await asOther('mkdir -m 777 "$@"', ...names.map((name) => join(shared, name)))).toBe(true);
    const pipes = await makeBridgePipes();
    for (const name of names) {
      expect(pipes.folder.startsWith(`${join(shared, name)}/`)).toBe(false);
      expect(readdirSync(join(shared, name))).toEqual([]);
    }
    pipes.close();
  });

  test("that owns the folder for temporary files, or a parent of it, is reported, and no folder is made there", () => {
    chownSync(shared, OTHER, OTHER);
    expect(() => makeMountedFolder()).toThrow(`may replace what is in ${shared}. `);
    const below = join(shared, "own");
    mkdirSync(below, { mode: 0o700 });
    vi.stubEnv("TMPDIR", below);
    expect(() => makeMountedFolder()).toThrow(`may replace what is in ${shared}. `);
    expect(readdirSync(below)).toEqual([]);
  });

  test("that has left a folder or a link does not stop the cleaning, and loses nothing", async () => {
    leftFolder();
    const theirs = join(shared, "portcullis-mounted-theirs");
    expect(await asOther('mkdir -m 700 "$1" && echo "$2" >"$1/host"', theirs, `${hostMachine()} ${GONE}`)).toBe(true);
    const ours = join(shared, "ours");
    mkdirSync(ours, { mode: 0o700 });
    writeFileSync(join(ours, "host"), `${hostMachine()} ${GONE}`);
    expect(await asOther('ln -s "$1" "$2"', ours, join(shared, "portcullis-mounted-link"))).toBe(true);
    removeLeftFolders();
    expect(readdirSync(shared).toSorted()).toEqual(["ours", "portcullis-mounted-link", "portcullis-mounted-theirs"]);
    expect(existsSync(join(theirs, "host"))).toBe(true);
    expect(existsSync(join(ours, "host"))).toBe(true);
  });
});
