import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createIsolateSandbox, defaultEngines } from "../../../src/sandboxes/isolate/isolate-sandbox.ts";
import { EngineProcess } from "../../../src/sandboxes/isolate/engine-process.ts";
import type { IsolateSandboxOptions } from "../../../src/sandboxes/isolate/pool-options.ts";
import { endOrphans } from "../../../src/sandboxes/isolate/janitor.ts";
import { someOf, testOfAll } from "../../support/all-tests.ts";
import { enginesOf } from "../../support/engines.ts";
import { runOne, withSandbox } from "./pool-programs.ts";
import { heardUntil, iterate, LIMITS, openGuest, startText, runIn } from "../../support/guests.ts";

test("an engine serves the next program of the same tenant, and never two tenants", () =>
  withSandbox({ engines: 1 }, async (sandbox) => {
    const before = enginesOf();
    await runOne(sandbox, "a");
    await runOne(sandbox, "a");
    expect(enginesOf()).toEqual(before);
    await runOne(sandbox, "b");
    expect(enginesOf()).not.toContain(before[0]);
  }));

testOfAll("with reuse never, every program has a process of its own", () =>
  withSandbox({ reuseEngines: "never" }, async (sandbox) => {
    const seen = new Set(enginesOf());
    await runOne(sandbox);
    for (const pid of enginesOf()) seen.add(pid);
    await runOne(sandbox);
    for (const pid of enginesOf()) seen.add(pid);
    expect(seen.size).toBeGreaterThanOrEqual(3);
  }),
);

testOfAll("an engine that keeps too much memory is replaced", () =>
  withSandbox({ keptMemoryBytes: 0 }, async (sandbox) => {
    const [first] = enginesOf();
    await runOne(sandbox, "a", "return Array.from({ length: 2e5 }, (_, n) => ({ n })).length");
    expect(enginesOf()).not.toContain(first);
  }),
);

test("an engine whose program was killed is not used again", () =>
  withSandbox({}, async (sandbox) => {
    const [first] = enginesOf();
    const guest = await openGuest(sandbox, "a");
    guest.kill("enough");
    await guest.exit;
    await runOne(sandbox, "a");
    expect(enginesOf()).not.toContain(first);
  }));

test("no more engines than allowed, and no more waiting programs than the queue takes; these may give up, and are served", () =>
  withSandbox({ engines: 1, queue: 2 }, async (sandbox) => {
    const first = await openGuest(sandbox, "a");
    const giveUp = new AbortController();
    const second = sandbox.open({ language: "javascript", limits: LIMITS, tenant: "a" }, giveUp.signal);
    const third = openGuest(sandbox, "a");
    expect(sandbox.pool.counts).toMatchObject({ engines: 1, waiting: 2 });
    await expect(openGuest(sandbox, "a")).rejects.toMatchObject({ code: "queue_full", allowed: 2 });
    giveUp.abort(new Error("too slow"));
    await expect(second).rejects.toThrow("too slow");
    first.kill("done");
    await using guest = await third;
    expect((await heardUntil(iterate(guest), "ready")).length).toBe(1);
  }));

testOfAll("an engine that is ended during its start is replaced, and the program that waits for it is served", () =>
  withSandbox({ warm: 0, engines: 1 }, async (sandbox) => {
    const opening = openGuest(sandbox);
    // It is started by a launcher.
    await expect.poll(() => enginesOf()).toHaveLength(1);
    const [starting = Number.NaN] = enginesOf();
    process.kill(starting, "SIGKILL");
    await using guest = await opening;
    expect((await heardUntil(iterate(guest), "ready")).length).toBe(1);
    expect(enginesOf()).not.toContain(starting);
  }),
);

const staysBusy = fileURLToPath(new URL("engine-that-stays-busy.ts", import.meta.url));

testOfAll.each(["loops", "grows", "sleeps"])(
  "an engine that %s when its program is over is busy until it is ended, and is not waited for",
  (how) =>
    withSandbox(
      { engines: 2, command: { command: process.execPath, prefix: [staysBusy, how], mode: "watch" } },
      async (sandbox) => {
        const [first] = enginesOf();
        const guest = await openGuest(sandbox, "a");
        await runIn(guest, "unused");
        expect(await guest.exit).toEqual({ type: "released" });
        // The same tenant and another one get engines while that one is still there.
        await using second = await openGuest(sandbox, "a");
        expect(await heardUntil(iterate(second), "ready")).toHaveLength(1);
        await goneFrom(first ?? 0);
        await using third = await openGuest(sandbox, "b");
        expect(await heardUntil(iterate(third), "ready")).toHaveLength(1);
      },
    ),
);

testOfAll(
  "where two programs run for each core a busy engine is awaited for a while before another one is started",
  () => {
    const enough = 2 * availableParallelism();
    return withSandbox({ engines: enough + 8 }, async (sandbox) => {
      const opening = Array.from({ length: enough + 2 }, () => openGuest(sandbox, "a"));
      // No timer fires meanwhile.
      for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
      expect(sandbox.pool.counts).toMatchObject({ engines: enough });
      for (const guest of await Promise.all(opening)) guest.kill("done");
    });
  },
);

test("programs of one tenant leave one of 16 engines to a tenant that has none, and again once such a tenant has taken it", () =>
  withSandbox({ engines: 16 }, async (sandbox) => {
    const opening = Array.from({ length: 16 }, () => openGuest(sandbox, "a"));
    const [first, ...others] = await Promise.all(opening.slice(0, 15));
    expect(sandbox.pool.counts).toMatchObject({ engines: 15, waiting: 1 });
    await using _ = await openGuest(sandbox, "b");
    first?.send([startText("return 1")]);
    await heardUntil(iterate(first!), "settled");
    first?.release();
    await expect.poll(() => sandbox.pool.counts).toMatchObject({ idle: 1, waiting: 1 });
    (await openGuest(sandbox, "c")).kill("done");
    for (const guest of others) guest.kill("done");
    await opening[15];
  }));

test("one tenant's waiting programs do not delay another tenant's program", () =>
  withSandbox({ engines: 1 }, async (sandbox) => {
    const first = await openGuest(sandbox, "a");
    const order: string[] = [];
    const serve = async (tenant: string) => {
      await using guest = await openGuest(sandbox, tenant);
      order.push(tenant);
      await runIn(guest);
    };
    // An engine serves its tenant for a while, because another tenant's has to be started.
    const many = Array.from({ length: 100 }, () => serve("a"));
    const one = serve("b");
    first.kill("done");
    await Promise.all([...many, one]);
    expect(order.indexOf("b")).toBeLessThan(order.length - 1);
    expect(order).toHaveLength(101);
  }));

test.each([
  [1, 64, 16],
  [2, 64, 32],
  [4, 1, 2],
  [64, 16, 32],
])("on %i cores and %i GiB there are %i engines at once", (cores, gib, engines) => {
  expect(defaultEngines(cores, gib * 1024 ** 3)).toBe(engines);
});

test("if no engine can be started, waiting programs are refused after a few attempts", async () => {
  const command = { command: process.execPath, prefix: ["--no-such-option"], mode: "watch" } as const;
  await using sandbox = createIsolateSandbox({ warm: 0, command });
  await expect(openGuest(sandbox)).rejects.toMatchObject({ code: "sandbox_unavailable" });
});

test.each([
  [{ wam: 1 }, 'createIsolateSandbox: there is no option "wam", did you mean warm?'],
  [{ engines: 0 }, "createIsolateSandbox({ engines }): expected a whole number of at least 1, got 0."],
  [{ warm: -1 }, "createIsolateSandbox({ warm }): expected a whole number of at least 0, got -1."],
  [{ warm: "2" }, 'createIsolateSandbox({ warm }): expected a whole number of at least 0, got "2".'],
  [{ reuseEngines: "x" }, 'createIsolateSandbox({ reuseEngines }): expected "tenant" or "never", got "x".'],
])("the options %j are refused with a sentence", (options, message) => {
  expect(() => createIsolateSandbox(options as IsolateSandboxOptions)).toThrow(message);
});

test("closing the sandbox leaves no process; it then opens no guest and starts no engine", async () => {
  const sandbox = createIsolateSandbox({ warm: 2 });
  await sandbox.warm?.();
  await openGuest(sandbox);
  await expect.poll(() => enginesOf().length).toBeGreaterThanOrEqual(2);
  await sandbox[Symbol.asyncDispose]();
  await expect(openGuest(sandbox)).rejects.toThrow("closed");
  expect(enginesOf()).toEqual([]);
});

const GONE = [
  ["that was stopped", "watched"],
  ["in namespaces of its own, which was not bound to its launcher", "unbound"],
] as const;

test.each(someOf(GONE, 1))(
  "an engine whose host is gone is ended by the next host's janitor, even one %s",
  async (_, how) => {
    const script = fileURLToPath(new URL("host-with-stopped-engine.ts", import.meta.url));
    const host = spawn(process.execPath, [script, how], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(host.stdout, "data")) as [Buffer];
    const engine = Number(line.toString());
    host.kill("SIGKILL");
    await once(host, "exit");
    expect(isAlive(engine)).toBe(true);
    endOrphans();
    await goneFrom(engine);
  },
);

testOfAll.skipIf(process.platform === "win32")(
  "Ctrl-C, which a terminal sends to every process of its foreground group, ends no engine",
  async () => {
    const script = fileURLToPath(new URL("host-that-is-interrupted.ts", import.meta.url));
    // A group of its own, as a shell gives each command.
    const host = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"], detached: true });
    const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
    expect(await lines.next()).toMatchObject({ value: "waiting" });
    process.kill(-(host.pid ?? 0), "SIGINT");
    const { value: report } = await lines.next();
    const outcome = { type: "completed", value: "interrupted" };
    expect(JSON.parse(String(report))).toEqual({ outcome, restarts: 0 });
  },
);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function goneFrom(pid: number): Promise<void> {
  if (!isAlive(pid)) return;
  await new Promise((resolve) => setImmediate(resolve));
  await goneFrom(pid);
}

const CANNOT_START = fileURLToPath(new URL("host-that-cannot-start.ts", import.meta.url));

/** Lines that a host says on which no engine can be started, which may have 80 files open. */
async function hostThatCannotStart(causes: readonly string[], env = process.env): Promise<readonly string[]> {
  const node = [process.execPath, "--conditions=portcullis-source", CANNOT_START, ...causes];
  const host = spawn("/bin/sh", ["-c", 'ulimit -n 80 && exec "$@"', "host", ...node], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 15_000,
    killSignal: "SIGKILL",
    env,
  });
  const said: string[] = [];
  host.stdout.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  await once(host, "close");
  return said.join("").trim().split("\n");
}

testOfAll.for([0, 3, 6])(
  "a host that may open only %i more files reports that it cannot start an engine, and continues when it can",
  { timeout: 20_000 },
  async (left) => {
    expect(await hostThatCannotStart(["descriptors", String(left)])).toEqual(["sandbox_unavailable", "completed"]);
  },
);

const MISSING = [
  ["setpriv", "a thread of the engine watches its host"],
  ["unshare", "it is started without namespaces of its own"],
] as const;

test.each(someOf(MISSING, 1))("where %s cannot start an engine, %s", { timeout: 20_000 }, async (command) => {
  const folder = await mkdtemp(join(tmpdir(), "portcullis-setpriv-"));
  try {
    await writeFile(join(folder, command), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
    expect(await hostThatCannotStart([command], env)).toEqual(["completed", "completed"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("an engine that node refuses to start gives sandbox_unavailable", { timeout: 20_000 }, async () => {
  expect(await hostThatCannotStart(["throws"])).toEqual(["sandbox_unavailable", "sandbox_unavailable"]);
});

test("an engine that sends frames before its isolate is ready is ended, and few of them are read", async () => {
  const flood = `const { writeSync } = require("node:fs");
const frames = Buffer.concat(Array.from({ length: 2000 }, () => Buffer.from([0, 0, 0, 1, 123])));
for (;;) writeSync(3, frames);`;
  const engine = new EngineProcess({ command: process.execPath, prefix: ["--eval", flood], mode: "watch" });
  await engine.prepare(16 * 1024 * 1024, 20_000).catch(() => {});
  expect(await engine.exit).toMatchObject({ type: "broken", detail: expect.stringContaining("before it was ready") });
});
