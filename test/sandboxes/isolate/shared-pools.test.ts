import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, expect, test, vi } from "vitest";
import { testOfAll } from "../../support/all-tests.ts";
import { createIsolateSandbox } from "../../../src/sandboxes/index.ts";
import { enginesOf } from "../../support/engines.ts";
import { heardUntil, iterate, openGuest, startText, runIn } from "../../support/guests.ts";

afterEach(() => expect(enginesOf()).toEqual([]));

/** The sandbox of a second copy of every module, as a server that bundles or a test runner that watches loads them. */
async function loadAgain(): Promise<typeof createIsolateSandbox> {
  vi.resetModules();
  const again = await import("../../../src/sandboxes/isolate/isolate-sandbox.ts");
  expect(again.createIsolateSandbox).not.toBe(createIsolateSandbox);
  return again.createIsolateSandbox;
}

test("a module that is loaded again shares the engines and their limit", async () => {
  await using one = createIsolateSandbox({ engines: 1, warm: 1 });
  await using other = (await loadAgain())({ warm: 1, engines: 1 });
  await Promise.all([one.warm?.(), other.warm?.()]);
  expect(enginesOf()).toHaveLength(1);
  const guest = await openGuest(one);
  const waiting = openGuest(other);
  expect(other.pool.counts).toEqual({ engines: 1, idle: 0, waiting: 1 });
  await runIn(guest);
  await using next = await waiting;
  expect(await heardUntil(iterate(next), "ready")).toHaveLength(1);
  expect(enginesOf()).toHaveLength(1);
});

test("a full queue of shared engines rejects with the error classes of the caller's own module", async () => {
  const again = await loadAgain();
  const { QueueFull } = await import("../../../src/sandboxes/sandbox.ts");
  await using one = createIsolateSandbox({ engines: 1, queue: 1 });
  await using other = again({ engines: 1, queue: 1 });
  const first = await openGuest(one);
  const second = openGuest(one);
  const refused = await openGuest(other).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(QueueFull);
  expect(refused).toMatchObject({ code: "queue_full", allowed: 1 });
  first.kill("done");
  (await second).kill("done");
});

test("disposing of a sandbox ends its programs, and those that wait, but not those of another that shares its engines", async () => {
  await using other = createIsolateSandbox({ engines: 2 });
  const one = createIsolateSandbox({ engines: 2 });
  const [ended, stays] = [await openGuest(one), await openGuest(other)];
  const waiting = openGuest(one);
  const frames = iterate(stays);
  await heardUntil(frames, "ready");
  const disposed = one[Symbol.asyncDispose]();
  await expect(waiting).rejects.toThrow("closed");
  await disposed;
  expect(await ended.exit).toEqual({ type: "killed", reason: "the sandbox was closed" });
  stays.send([startText("return 1")]);
  expect((await heardUntil(frames, "settled")).length).toBeGreaterThan(0);
  await expect(openGuest(one)).rejects.toMatchObject({ code: "sandbox_unavailable" });
});

testOfAll("a sandbox that is created while the last one closes gets engines of its own", async () => {
  const one = createIsolateSandbox({ warm: 1 });
  await one.warm?.();
  const before = enginesOf();
  const disposed = one[Symbol.asyncDispose]();
  while (!one.pool.closed) await Promise.resolve();
  await using next = createIsolateSandbox({ warm: 1 });
  await next.warm?.();
  await disposed;
  expect(enginesOf()).toHaveLength(1);
  expect(before).not.toContain(enginesOf()[0]);
});

testOfAll("sandboxes whose options differ share no engines", async () => {
  await using one = createIsolateSandbox({ warm: 1, keptMemoryBytes: 1 });
  await using other = createIsolateSandbox({ warm: 1, keptMemoryBytes: 2 });
  await Promise.all([one.warm?.(), other.warm?.()]);
  expect(one.pool).not.toBe(other.pool);
  expect(enginesOf()).toHaveLength(2);
});

testOfAll.each<[string, number, string?]>([
  ["of the same version shares its engines", 1],
  ["of another version shares none", 2, "9.9.9"],
])("a copy of the package in another folder %s", async (_, pools, version) => {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const copy = mkdtempSync(join(tmpdir(), "portcullis-copy-"));
  try {
    for (const folder of ["src", "bridge"]) cpSync(join(root, folder), join(copy, folder), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { readonly version: string };
    writeFileSync(join(copy, "package.json"), JSON.stringify({ ...manifest, version: version ?? manifest.version }));
    const program = `
      const counts = [];
      for (const folder of ${JSON.stringify([root, root, copy])}) {
        const { createIsolateSandbox } = await import(folder + "/src/sandboxes/index.ts");
        const sandbox = createIsolateSandbox({ warm: 1, engines: 1 });
        await sandbox.warm();
        counts.push(sandbox.pool);
      }
      console.log(new Set(counts).size);
      process.exit();
    `;
    const args = ["--conditions=portcullis-source", "--input-type=module", "--eval", program];
    expect((await promisify(execFile)(process.execPath, args)).stdout).toBe(`${pools}\n`);
  } finally {
    rmSync(copy, { recursive: true });
  }
});
