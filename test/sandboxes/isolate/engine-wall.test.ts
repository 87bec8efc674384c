import { spawn } from "node:child_process";
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createIsolateSandbox, type IsolateSandboxOptions } from "../../../src/sandboxes/index.ts";
import { enginesOf } from "../../support/engines.ts";
import { openGuest, startText } from "../../support/guests.ts";
import { foundIn, GIVEN, hostStartedWithFile } from "../../support/started-with.ts";
import { newFolder } from "../../support/new-folder.ts";

interface Engine {
  readonly pid: number;
  readonly command: NonNullable<IsolateSandboxOptions["command"]>;
}

/** How engines are started here, and one that runs. */
async function withEngine<Result>(
  use: (engine: Engine) => Result | Promise<Result>,
  options: IsolateSandboxOptions = {},
): Promise<Result> {
  await using sandbox = createIsolateSandbox({ warm: 0, engines: 1, ...options });
  const { engine } = (await openGuest(sandbox)) as unknown as { readonly engine: Engine };
  return await use({ pid: engine.pid, command: engine.command });
}

const usual = await withEngine(({ command }) => command);
const has = (part: NonNullable<Engine["command"]["parts"]>[number]) => usual.parts?.includes(part) === true;
const statusOf = (pid: number | "self", field: string) =>
  new RegExp(`^${field}:\\s+(\\S+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];

/** What code in the process of an engine gets from these tries: nothing, or the code of its fault. */
const TRIES = `
  const { connect } = require("node:net");
  const { createSocket } = require("node:dgram");
  const fs = require("node:fs");
  const { execFileSync } = require("node:child_process");
  const [host, port, file, local] = process.argv.slice(-4);
  const tried = (act) => { try { act(); return "done"; } catch (error) { return error.code; } };
  const reached = (options) => new Promise((resolve) => {
    try { connect(options).on("connect", () => resolve("done")).on("error", ({ code }) => resolve(code)); }
    catch (error) { resolve(error.code); }
  });
  const sent = () => new Promise((resolve) => createSocket("udp4").on("error", ({ code }) => resolve(code)).send("x", 9, "127.0.0.1", (error) => resolve(error?.code ?? "done")));
  (async () => JSON.stringify({
    tcp: await reached({ host: "127.0.0.1", port: Number(port) }),
    udp: await sent(),
    abstract: await reached({ path: "\\0portcullis-" + port }),
    local: await reached({ path: local }),
    host: tried(() => process.kill(Number(host), 0)),
    all: tried(() => process.kill(-1, 0)),
    memory: tried(() => fs.closeSync(fs.openSync("/proc/" + host + "/mem", "r+"))),
    environment: tried(() => fs.readFileSync("/proc/" + host + "/environ")),
    read: tried(() => fs.readFileSync(file)),
    write: tried(() => fs.writeFileSync(local + ".txt", "")),
    start: tried(() => execFileSync("/bin/true")),
  }))().then((tries) => { fs.writeSync(1, tries); process.exit(); });
`;

/** Runs the tries in a process that is started as engines are, with these options of node. */
async function tryAll(options: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const servers = [createServer(), createServer(), createServer()] as const;
  await new Promise<void>((resolve) => servers[0].listen(0, "127.0.0.1", resolve));
  const { port } = servers[0].address() as AddressInfo;
  await new Promise<void>((resolve) => servers[1].listen(`\0portcullis-${port}`, resolve));
  const local = join(newFolder(onTestFinished), "socket");
  await new Promise<void>((resolve) => servers[2].listen(local, resolve));
  const words = [process.pid, port, fileURLToPath(import.meta.url), local].map(String);
  const child = spawn(usual.command, [...usual.prefix, ...options, "--eval", TRIES, "--", ...words], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { OPENSSL_CONF: "/dev/null" },
  });
  const printed = await text(child.stdout);
  for (const server of servers) server.close();
  return JSON.parse(printed) as Readonly<Record<string, string>>;
}

const NO_NETWORK = has("noSockets")
  ? { tcp: "EPERM", udp: "EPERM", abstract: "EPERM" }
  : { tcp: "ENETUNREACH", udp: "ENETUNREACH", abstract: "ECONNREFUSED" };

test.skipIf(!has("namespaces"))(
  "code in the process of an engine, outside of its isolate, reaches no socket, process or file of the host",
  async () => {
    const options = await withEngine(({ pid }) =>
      readFileSync(`/proc/${pid}/cmdline`, "utf8")
        .split("\0")
        .filter((word) => word.startsWith("--") && !word.startsWith("--portcullis")),
    );
    expect(options).toContain("--permission");
    const denied = "ERR_ACCESS_DENIED";
    const files = { memory: denied, environment: denied, read: denied, write: denied, start: denied };
    const { local, ...others } = await tryAll(options);
    expect(others).toEqual({ ...NO_NETWORK, host: "ESRCH", all: "ESRCH", ...files });
    // A socket that is a file is reached where only the network is held.
    expect(local).toBe(has("noSockets") ? "EPERM" : "done");
  },
);

test.skipIf(!has("namespaces"))(
  "the kernel alone, without node's permissions, keeps sockets, signals and the host's memory from such code",
  async () => {
    const { read, write, start, local, ...others } = await tryAll([]);
    const hidden = has("landlock") ? "EACCES" : "ENOENT";
    expect(others).toEqual({ ...NO_NETWORK, host: "ESRCH", all: "ESRCH", memory: hidden, environment: hidden });
    // Landlock and filters are not everywhere; `doctor` tells whether they are here.
    if (has("noSockets")) expect(local).toBe("EPERM");
    if (has("landlock")) expect([read, write, start !== "done"]).toEqual(["EACCES", "EACCES", true]);
  },
);

test.skipIf(!has("namespaces"))(
  "an engine has no capability, gets no new privilege, and shares no namespace but files",
  () =>
    withEngine(({ pid }) => {
      expect([statusOf(pid, "NoNewPrivs"), BigInt(`0x${statusOf(pid, "CapEff")}`)]).toEqual(["1", 0n]);
      for (const kind of ["user", "net", "pid", "ipc", "uts"])
        expect(readlinkSync(`/proc/${pid}/ns/${kind}`)).not.toBe(readlinkSync(`/proc/self/ns/${kind}`));
    }),
);

/** In the namespaces that engines have here, but the engine does not end with its launcher. Landlock would let no `setpriv` run. */
const unbound = {
  ...usual,
  prefix: [
    "--pdeathsig",
    "KILL",
    ...usual.prefix.slice(usual.prefix.indexOf("--"), -1),
    usual.command,
    "--pdeathsig",
    "clear",
    "--",
    ...usual.prefix.slice(-1),
  ],
};

test.skipIf(!has("namespaces"))(
  "an engine that would outlive its launcher is ended itself, while it is busy",
  async () => {
    const ended = await withEngine(({ pid }) => pid, { command: unbound });
    expect(existsSync(`/proc/${ended}`)).toBe(false);
    await using sandbox = createIsolateSandbox({ warm: 0, engines: 1, command: unbound });
    const guest = await openGuest(sandbox);
    guest.send([startText("for (;;);")]);
    const { pid } = (guest as unknown as { readonly engine: Engine }).engine;
    guest.kill("the test is over");
    expect(await guest.exit).toEqual({ type: "killed", reason: "the test is over" });
    expect(existsSync(`/proc/${pid}`)).toBe(false);
  },
);

test("engines and their launchers have no descriptor that their host was started with", async () => {
  await using host = await hostStartedWithFile(`
    import { createIsolateSandbox } from ${JSON.stringify(new URL("../../../src/sandboxes/index.ts", import.meta.url).href)};
    await using sandbox = createIsolateSandbox({ warm: 1 });
    await sandbox.warm();
  `);
  const engines = enginesOf(host.pid);
  expect(engines).toHaveLength(1);
  const found = [...engines, ...engines.map((pid) => Number(statusOf(pid, "PPid")))];
  expect(foundIn(host.pid)).toEqual(GIVEN);
  // Without launchers the parent is the host.
  for (const pid of found.filter((one) => one !== host.pid)) expect(foundIn(pid)).toEqual(["null", "null"]);
});

test("the filter of system calls refuses sockets on both architectures, and nothing else", () => {
  const [ALLOW, EPERM, X32] = [0x7fff_0000, 0x0005_0001, 0x4000_0000];
  const calls = { 0xc000_003e: [41, 42, 53, 425], 0xc000_00b7: [198, 203, 199, 425] };
  const bytes = readFileSync(new URL("../../../src/sandboxes/isolate/no-sockets.bin", import.meta.url));
  /** What the kernel answers to a system call: it runs the instructions from the first on. */
  const answer = (arch: number, call: number): number => {
    let loaded = 0;
    for (let at = 0; ; at += 8) {
      const value = bytes.readUInt32LE(at + 4);
      const kind = bytes.readUInt16LE(at);
      if (kind === 0x06) return value;
      if (kind === 0x20) loaded = value === 4 ? arch : call;
      else if (kind === 0x15) at += 8 * (bytes[at + (loaded === value ? 2 : 3)] ?? 0);
      else if (kind === 0x35) at += 8 * (bytes[at + (loaded >= value ? 2 : 3)] ?? 0);
      else throw new Error(`instruction ${kind}`);
    }
  };
  for (const [arch, refused] of Object.entries(calls)) {
    const found = Array.from({ length: 600 }, (_, call) => call).filter((call) => answer(Number(arch), call) === EPERM);
    expect(found).toEqual(refused.toSorted((one, other) => one - other));
    expect([answer(Number(arch), 0), answer(Number(arch), X32 + 41)]).toEqual([ALLOW, EPERM]);
  }
});
