import { execFile, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BridgePipes } from "../../../src/sandboxes/docker/bridge-pipes.ts";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import {
  makeMountedFolder,
  removeLeftFolders,
  removeMountedFolder,
} from "../../../src/sandboxes/docker/mounted-folder.ts";
import { hostProcess } from "../../../src/sandboxes/host-process.ts";

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
  shared = mkdtempSync(join(tmpdir(), "portcullis-"));
  chmodSync(shared, 0o1777);
  vi.stubEnv("TMPDIR", shared);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(shared, { recursive: true, force: true });
});

/** A name such as a host that is gone has left behind. */
function leftName(): string {
  const folder = makeMountedFolder();
  const name = basename(dirname(folder));
  removeMountedFolder(folder);
  expect(name).toContain(hostProcess());
  return name.replace(hostProcess(), GONE);
}

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

test("folders of hosts that have ended are removed, and those of running hosts or of another form are kept", () => {
  const name = leftName();
  const living = makeMountedFolder();
  const kept = join(shared, "kept");
  mkdirSync(kept, { mode: 0o700 });
  writeFileSync(join(kept, "file"), "");
  mkdirSync(join(shared, name), { mode: 0o700 });
  writeFileSync(join(shared, name, "pipe"), "");
  symlinkSync(kept, join(shared, `${name}link`));
  mkdirSync(join(shared, `${name}open`));
  chmodSync(join(shared, `${name}open`), 0o755);
  writeFileSync(join(shared, `${name}file`), "");
  mkdirSync(join(shared, `portcullis-mounted-elsewhere-${GONE}-abcdef`), { mode: 0o700 });
  removeLeftFolders();
  expect(readdirSync(shared).toSorted()).toEqual(
    [
      "kept",
      basename(dirname(living)),
      `portcullis-mounted-elsewhere-${GONE}-abcdef`,
      ...["link", "open", "file"].map((end) => name + end),
    ].toSorted(),
  );
  expect(readdirSync(kept)).toEqual(["file"]);
});

test("the pipes of a bridge are pipes, and go with their folder", async () => {
  const pipes = await BridgePipes.make();
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
  expect(new Daemon().unavailable(refused).message).toBe(
    "A container cannot be started, because of a file on this machine: EACCES: permission denied, open '/secret'. Give this user access to it.",
  );
});

test("no folder is made where other users may replace it", () => {
  chmodSync(shared, 0o777);
  expect(() => makeMountedFolder()).toThrow(
    /other users of this machine may replace what is in \S+\. Set TMPDIR to a folder of this user's own\.$/,
  );
  expect(readdirSync(shared)).toEqual([]);
});

describe.skipIf(!canBeOthers)("another user of this machine", () => {
  test("cannot list the folder, pass through it or open a pipe", async () => {
    const pipes = await BridgePipes.make();
    const outer = dirname(pipes.folder);
    expect(await asOther('ls "$1"', shared)).toBe(true);
    for (const command of [
      'ls "$1"',
      'ls "$2"',
      'stat "$2/in"',
      'echo forged 1<>"$2/out"',
      ': <>"$2/in"',
      'touch "$1/x"',
      'mv "$1" "$1.mine"',
      'rmdir "$1"',
      'chmod 777 "$1"',
    ])
      expect([command, await asOther(command, outer, pipes.folder)]).toEqual([command, false]);
    pipes.close();
  });

  test("that has made a folder under every predictable name gets nothing in it", async () => {
    const names = [`portcullis-mounts-${hostProcess()}`, `portcullis-mounts-${process.pid}`, leftName().slice(0, -7)];
    for (const name of names) expect(await asOther('mkdir -m 777 "$1"', join(shared, name))).toBe(true);
    const pipes = await BridgePipes.make();
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
    const name = leftName();
    expect(await asOther('mkdir -m 700 "$1"', join(shared, name))).toBe(true);
    expect(await asOther('mkdir -m 700 "$1"', join(shared, `portcullis-mounts-${GONE}`))).toBe(true);
    const ours = join(shared, "ours");
    mkdirSync(ours, { mode: 0o700 });
    writeFileSync(join(ours, "file"), "");
    expect(await asOther('ln -s "$1" "$2"', ours, join(shared, `${name}link`))).toBe(true);
    removeLeftFolders();
    expect(readdirSync(shared)).toHaveLength(4);
    expect(existsSync(join(ours, "file"))).toBe(true);
  });
});
