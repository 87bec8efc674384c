import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createRuntime, fromMcp } from "../../../src/index.ts";
import { stdioWire } from "../../../src/sources/mcp/wire/stdio-wire.ts";
import { OutputTail } from "../../../src/base/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { testOfAll } from "../../support/all-tests.ts";
import { servedRaw } from "./served-raw.ts";
import { call, isRunning, rawServer, READ, run, startProcess, WRITE } from "./servers.ts";
import { newFolder } from "../../support/new-folder.ts";
import { childrenOf, foundIn, GIVEN, hostStartedWithFile } from "../../support/started-with.ts";
import { failing } from "../../support/failing.ts";

const folder = newFolder();

let files = 0;
/** A file that a server notes its calls in; its name is an argument of the server. */
function notesFile(): string {
  files += 1;
  return join(folder, `notes-${files}`);
}
const notesIn = (file: string) => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);

const GONE = "The server of raw.die cannot be reached, or broke off.";

test("a server is started once, also where it is asked in both versions of the protocol", async () => {
  const notes = notesFile();
  await using source = await fromMcp(rawServer("notes-start", notes), READ);
  expect(await call(source.tools, 'raw.echo({ text: "x" })')).toBe("x");
  expect(notesIn(notes)).toEqual(["start", "call echo"]);
});

// ---- a server that dies ------------------------------------------------------------------------------------------

test("a server that dies in mid-call fails the call, which is not sent twice, and is started again at the next one", async () => {
  const notes = notesFile();
  await using source = await fromMcp(rawServer("plain", notes), WRITE);
  expect(await call(source.tools, "raw.die({})")).toEqual(
    failing("source_unavailable", `${GONE} The call may have taken effect`),
  );
  expect(await call(source.tools, 'raw.echo({ text: "again" })')).toBe("again");
  expect(notesIn(notes)).toEqual(["call die", "call echo"]);
});

testOfAll.each(["read", "idempotent"] as const)("a call with the effect %s is sent once more", async (effect) => {
  const notes = notesFile();
  await using source = await fromMcp(rawServer("plain", notes), { ...READ, effect });
  expect(await call(source.tools, "raw.die({})")).toMatchObject({ code: "source_unavailable" });
  expect(notesIn(notes)).toEqual(["call die", "call die"]);
});

testOfAll("a server is started again at most three times in a minute", async () => {
  const notes = notesFile();
  await using source = await fromMcp(rawServer("plain", notes), WRITE);
  for (let time = 0; time < 4; time += 1) await call(source.tools, "raw.die({})");
  expect(await call(source.tools, 'raw.echo({ text: "x" })')).toEqual(
    failing("source_unavailable", /"raw" .*3 times.* \d+ s\.$/),
  );
  expect(notesIn(notes)).toEqual(Array(4).fill("call die"));
});

testOfAll("a server that ends when it is asked in the new version is started once at each further call", async () => {
  const notes = notesFile();
  await using source = await fromMcp(rawServer("dies-when-asked-anew", notes), WRITE);
  for (let time = 0; time < 3; time += 1) await call(source.tools, "raw.die({})");
  expect(notesIn(notes)).toEqual(["start", "start", "call die", "start", "call die", "start", "call die"]);
});

testOfAll("a server whose connection is closed while it starts does not run", async () => {
  const mark = `mark-starting-${process.pid}`;
  const { command = "", args = [] } = rawServer("stays", mark);
  const wire = stdioWire({ name: "raw", command, args }, new OutputTail(100));
  const allowed = () => ({ bytes: 100, values: 100, largeValues: 0 });
  const starting = wire.start({ allowed, onMessage() {}, onFailed() {}, onClosed() {} });
  await wire.close();
  expect(isRunning(mark)).toBe(false);
  await starting;
});

testOfAll("the end of a server is told, also if its last message could not be taken", async () => {
  const thrown = vi.fn();
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", thrown);
  try {
    const args = ["-e", "console.log('{}')"];
    const wire = stdioWire({ name: "raw", command: process.execPath, args }, new OutputTail(100));
    const onMessage = () => {
      throw new Error("of the host");
    };
    const allowed = () => ({ bytes: 100, values: 100, largeValues: 0 });
    const closed = new Promise((resolve) => void wire.start({ allowed, onMessage, onFailed() {}, onClosed: resolve }));
    expect(await closed).toContain("exit code 0");
  } finally {
    process.removeAllListeners("unhandledRejection");
    for (const one of others) process.on("unhandledRejection", one);
  }
  expect(thrown).toHaveBeenCalledOnce();
});

testOfAll(
  "a server that cannot be started again says nothing of this machine to programs, and all to the operator",
  async () => {
    await using source = await fromMcp(rawServer("starts-once", notesFile()), WRITE);
    await call(source.tools, "raw.die({})");
    const error = vi.fn();
    const answer = await call(source.tools, 'raw.echo({ text: "x" })', { logger: { error } });
    expect(answer).toEqual(failing("source_unavailable", "raw.echo"));
    expect(error.mock.calls[0]).toMatchObject([{ err: { cause: { message: "exit code 9" } } }, expect.any(String)]);
    expect(source.log).toContain("a detail of the host");
  },
);

testOfAll("other calls of a server that dies fail too, and the program goes on", async () => {
  await using source = await fromMcp(rawServer("silent"), WRITE);
  const { outcome } = await run(
    source.tools,
    "return (await Promise.allSettled([tools.raw.echo({}), tools.raw.echo({}), tools.raw.die({})])).map(({ reason }) => reason.code)",
  );
  expect(outcome).toMatchObject({ value: ["source_unavailable", "source_unavailable", "source_unavailable"] });
});

// ---- ends ------------------------------------------------------------------------------------------------------

test("disposing of a source ends its server, also one that ignores it, and fails its calls", async () => {
  const notes = notesFile();
  const source = await fromMcp(rawServer("stays", notes), READ);
  expect(isRunning(notes)).toBe(true);
  await source[Symbol.asyncDispose]();
  expect(isRunning(notes)).toBe(false);
  expect(await call(source.tools, "raw.echo({})")).toEqual(failing("source_unavailable", /"raw" was closed/));
});

test("a server dies with its host, even if the host is killed and the server does not listen", async () => {
  const notes = notesFile();
  const index = new URL("../../../src/index.ts", import.meta.url).href;
  const program = `
    const { fromMcp } = await import(${JSON.stringify(index)});
    await fromMcp(${JSON.stringify(rawServer("stays", notes))});
    console.log("ready");
    setInterval(() => {}, 1000);`;
  {
    const args = ["--conditions=portcullis-source", "--input-type=module", "--eval", program];
    await using host = await startProcess(args, {}, /ready/);
    expect(host.pid).toBeGreaterThan(0);
    expect(isRunning(notes)).toBe(true);
  }
  await expect.poll(() => isRunning(notes)).toBe(false);
});

test("a server gets PATH, HOME and what is named, and nothing else of the environment", async () => {
  vi.stubEnv("SECRET_OF_THE_HOST", "x");
  await using source = await fromMcp({ ...rawServer("environment"), env: { NAMED: "1" } }, READ);
  const names = (await call(source.tools, "raw.echo({})")) as readonly string[];
  // What macOS adds to every process by itself begins with two underscores.
  expect(names.filter((name) => !name.startsWith("__"))).toEqual(["HOME", "NAMED", "PATH"]);
  vi.unstubAllEnvs();
});

test.skipIf(process.platform !== "linux")(
  "a server, and the shell that ends it with its host, have no descriptor that the host was started with",
  async () => {
    const index = new URL("../../../src/index.ts", import.meta.url).href;
    await using host = await hostStartedWithFile(`
    const { fromMcp } = await import(${JSON.stringify(index)});
    await using source = await fromMcp(${JSON.stringify(rawServer("environment"))});
  `);
    expect(foundIn(host.pid)).toEqual(GIVEN);
    expect(childrenOf(host.pid).map(foundIn)).toEqual([1, 2].map(() => ["null", "null"]));
  },
);

// ---- time -------------------------------------------------------------------------------------------------------

test("a call that takes too long is cancelled at the server, and so is one whose execution ends", async () => {
  const notes: string[] = [];
  await using source = await fromMcp({ ...(await servedRaw("silent", { notes })), timeoutMs: 100 }, READ);
  expect(await call(source.tools, "raw.echo({})")).toMatchObject({ code: "handler_timed_out" });
  await expect.poll(() => notes).toEqual(["call echo", "cancelled"]);
  await using slow = await fromMcp(await servedRaw("silent", { notes }), READ);
  await using runtime = await createRuntime({ tools: slow.tools, sandbox: createMemorySandbox() });
  const cancelling = new AbortController();
  const report = runtime.execute("await tools.raw.echo({})", { signal: cancelling.signal });
  await expect.poll(() => notes).toHaveLength(3);
  cancelling.abort();
  expect((await report).outcome.type).toBe("cancelled");
  await expect.poll(() => notes).toEqual(["call echo", "cancelled", "call echo", "cancelled"]);
});

// ---- options -----------------------------------------------------------------------------------------------------

test.each([
  [{ name: "a" }, "expected either command, for a server that is started, or url"],
  [{ name: "a", command: "x", url: "http://x" }, "expected either command"],
  [{ name: "a b", command: "x" }, "this name cannot be used"],
  [{ name: "a", url: "ftp://x" }, "expected an address that begins with http:// or https://"],
  [{ name: "a", url: "http://a,b/x" }, "of one host"],
  [{ name: "a", url: "https://$HOST/x" }, "of one host"],
  [{ name: "a", url: "http://x", env: {} }, "env goes with command only"],
  [{ name: "a", command: "x", headers: {} }, "headers goes with url only"],
  [{ name: "a", command: "x", arg: [] }, 'there is no option "arg", did you mean args?'],
] as const)("options that do not fit are refused: %j", async (server, message) => {
  await expect(fromMcp(server as never)).rejects.toMatchObject(failing("option_invalid", message));
});

testOfAll("a policy that is invalid is refused by the name of its tool, and the server is ended", async () => {
  const notes = notesFile();
  await expect(
    fromMcp(rawServer("plain", notes), () => ({ allowedCallers: [], effect: "read" }) as never),
  ).rejects.toMatchObject(failing("option_invalid", 'policy of "echo": { allowedCallers }'));
  expect(isRunning(notes)).toBe(false);
});

test.each([
  [{ name: "a", command: "no-such-command-here" }, 'the command "no-such-command-here" is not found'],
  [{ name: "a", command: process.execPath, cwd: "/no/such/folder" }, "there is no folder /no/such/folder"],
  [{ name: "a", url: "http://127.0.0.1:1/mcp" }, "cannot be reached, or broke off"],
] as const)("a server that is not there is one sentence: %j", async (server, message) => {
  await expect(fromMcp(server)).rejects.toMatchObject(failing("source_unavailable", message));
});
