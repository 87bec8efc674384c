import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRuntime, createSqliteJournal, type RuntimeOptions, type Tool } from "portcullis";
import { createMemoryJournal } from "portcullis/journal";
import { createServer } from "portcullis/serve";
import { createMemorySandbox } from "portcullis/testing";
import { expect, test as anyTest } from "vitest";
import { testOfAll } from "../support/all-tests.ts";
import { tool } from "../support/tools.ts";
import { newFolder } from "../support/new-folder.ts";

const folder = fileURLToPath(new URL("../../examples/http-client/", import.meta.url));
const SCRIPT = `${folder}script.json`;
const { default: tools } = (await import(`${folder}tools.js`)) as { readonly default: readonly Tool[] };
const TOKEN = "a-token-for-this-test";
const scratch = newFolder();

const hasNoPython = spawnSync("python3", ["--version"]).status !== 0;
const test = anyTest.skipIf(hasNoPython);
const furtherTest = testOfAll.skipIf(hasNoPython);

async function open({
  port = 0,
  journal = createMemoryJournal(),
  ...more
}: Partial<RuntimeOptions> & { readonly port?: number } = {}) {
  const runtime = await createRuntime({
    tools,
    journal,
    approve: () => "later",
    sandbox: createMemorySandbox(),
    ...more,
  });
  const server = await createServer(runtime, { token: TOKEN });
  const { url } = await server.listen({ port });
  const close = async () => {
    await server.close({ drainMs: 0 });
    await runtime[Symbol.asyncDispose]();
  };
  return { runtime, url, close, [Symbol.asyncDispose]: close };
}

/** Starts the client; resolves with what it has written once it has ended. */
function start(url: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { PATH } = process.env;
  const child: ChildProcess = spawn("python3", [`${folder}client.py`, "Refund Ann's first order.", ...args], {
    env: { PATH, PORTCULLIS_URL: url, PORTCULLIS_KEY: TOKEN, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout?.on("data", (chunk: Buffer) => (said.out += String(chunk)));
  child.stderr?.on("data", (chunk: Buffer) => (said.err += String(chunk)));
  const ended = once(child, "close").then(([code]) => ({ code: code as number, ...said }));
  return { child, ended, said };
}

test("the loop runs the script's program, has its call decided by a person, and prints the model's answer", async () => {
  await using server = await open();
  const { child, ended } = start(server.url, ["--script", SCRIPT]);
  child.stdin?.end("y\n");
  const { code, out, err } = await ended;
  expect([code, out], err).toEqual([0, 'Done: {"refunded":"A-1"}\n\nPrinted:\n  2 orders of Ann\n']);
  expect(err).toContain('Allow "orders.refund" with {"id": "A-1"}?');
  expect(err).toContain('printed {"text": "2 orders of Ann\\n"}');
  const [listed] = await Array.fromAsync(server.runtime.executions.list());
  expect(listed).toMatchObject({ kind: "program", outcome: "completed" });
});

furtherTest("a denied call is what the model reads of its program", async () => {
  await using server = await open();
  const { code, out, err } = await start(server.url, ["--script", SCRIPT, "--approve", "none"]).ended;
  expect([code, out], err).toEqual([0, expect.stringContaining("approval was denied")]);
});

test("a model behind an endpoint of OpenAI's form is given run_program as the package gives it, and its mistakes are answered", async () => {
  await using server = await open();
  // oxlint-disable-next-line typescript/no-explicit-any
  const asked: any[] = [];
  const call = (name: string, args: string) => ({
    content: null,
    tool_calls: [{ id: `call_${asked.length}`, type: "function", function: { name, arguments: args } }],
  });
  const turns = [
    () => call("run_program", "{"),
    () => call("run_program", '{"code": "return ("}'),
    () => call("search_tools", '{"query": "pay back"}'),
    () => call("rm_rf", "{}"),
    () => call("run_program", JSON.stringify({ code: "return (await tools.orders.list({})).length" })),
    () => ({ content: "three" }),
  ];
  const model = createHttpServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += String(chunk)));
    request.on("end", () => {
      asked.push({ ...JSON.parse(text), authorization: request.headers.authorization, path: request.url });
      response.end(JSON.stringify({ choices: [{ message: { role: "assistant", ...turns[asked.length - 1]?.() } }] }));
    });
  }).listen(0, "127.0.0.1");
  await once(model, "listening");
  const { port } = model.address() as AddressInfo;
  const env = { MODEL_URL: `http://127.0.0.1:${port}/v1`, MODEL_NAME: "small", MODEL_KEY: "model-key" };
  const { code, out, err } = await start(server.url, [], env).ended;
  model.close();
  expect([code, out], err).toEqual([0, "three\n"]);
  expect(asked[0]).toMatchObject({ model: "small", path: "/v1/chat/completions", authorization: "Bearer model-key" });
  const { run_program: own } = await server.runtime.asTool("mcp");
  expect(asked[0].tools).toMatchObject([
    { type: "function", function: { name: "run_program", description: own.config.description } },
  ]);
  const results = asked.at(-1).messages.filter(({ role }: { readonly role: string }) => role === "tool");
  expect(results.map(({ content }: { readonly content: string }) => content)).toEqual([
    expect.stringContaining("do not fit its schema"),
    expect.stringContaining("SyntaxError"),
    expect.stringContaining("orders.refund"),
    'There is no tool "rm_rf".',
    expect.stringContaining("3"),
  ]);
});

test("a server that restarts under the client continues the program, and the client goes on with its events", async () => {
  const path = join(scratch, "restart.db");
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const slow = tool("slow", async () => {
    begun.resolve();
    await held.promise;
    return "done";
  });
  const script = join(scratch, "slow.json");
  writeFileSync(
    script,
    JSON.stringify([{ code: "console.log('once'); return await tools.slow({})" }, { text: "{result}" }]),
  );
  const first = await open({ tools: [slow], journal: createSqliteJournal({ path }) });
  const { ended, said } = start(first.url, ["--script", script]);
  await begun.promise;
  await expect.poll(() => said.err, { timeout: 20_000 }).toContain("printed");
  await first.close();
  held.resolve();
  await using second = await open({
    tools: [slow],
    journal: createSqliteJournal({ path }),
    port: Number(new URL(first.url).port),
  });
  expect(second.url).toBe(first.url);
  const { code, out, err } = await ended;
  expect([code, out], err).toEqual([0, '"done"\n\nPrinted:\n  once\n']);
  expect(err.match(/printed/g)).toHaveLength(1);
});

furtherTest("a wrong key, and a server that is not there, end the client with a sentence", async () => {
  await using server = await open();
  const wrong = await start(server.url, ["--script", SCRIPT], { PORTCULLIS_KEY: "wrong-key-0123456789" }).ended;
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining("key_unknown")]);
  const none = await start(server.url, ["--script", SCRIPT], { PORTCULLIS_KEY: "" }).ended;
  expect([none.code, none.err]).toEqual([1, expect.stringContaining("Set PORTCULLIS_KEY")]);
});

test("the client is one file that imports the standard library alone", () => {
  const source = readFileSync(`${folder}client.py`, "utf8");
  const imported = [...source.matchAll(/^(?:import|from) ([\w.]+)/gm)].map(([, name]) => name);
  expect(imported.join(" ")).toBe(
    "argparse http.client json os sys time urllib.error urllib.parse urllib.request uuid",
  );
});

const FAILING: readonly (readonly [what: string, args: readonly string[], env: NodeJS.ProcessEnv, said: string])[] = [
  ["no server", ["--script", SCRIPT], { PORTCULLIS_URL: "http://127.0.0.1:1" }, "Is `portcullis serve` running there?"],
  [
    "an address that is none",
    ["--script", SCRIPT],
    { PORTCULLIS_URL: "nonsense" },
    "nonsense is no address of a server",
  ],
  ["no script", ["--script", "/none.json"], {}, "--script /none.json cannot be read"],
  [
    "no model",
    [],
    { MODEL_NAME: "m", MODEL_URL: "http://127.0.0.1:1" },
    "The model at http://127.0.0.1:1/chat/completions",
  ],
  ["another key", ["--script", SCRIPT], { PORTCULLIS_KEY: "another-key-than-it-is" }, "The server refused it"],
];
testOfAll.each(FAILING)("%s is told in a sentence, without a traceback", async (_, args, env, said) => {
  await using server = await open();
  const { code, err } = await start(server.url, args, env).ended;
  expect(code).toBe(1);
  expect(err).toContain(said);
  expect(err).not.toContain("Traceback");
});

furtherTest("an answer and a refusal do not steer the terminal", async () => {
  await using server = await open();
  const script = join(scratch, "steers.json");
  writeFileSync(script, JSON.stringify([{ text: "one\n\u001b[2J\u009btwo\u202e" }]));
  const { code, out } = await start(server.url, ["--script", script]).ended;
  expect([code, out]).toEqual([
    0,
    String.raw`one
\u001b[2J\u009btwo\u202e
`,
  ]);
  const refusing = createHttpServer((_, response) => {
    response.writeHead(403, { "retry-after": "²" });
    response.end(JSON.stringify({ error: { code: "no", message: "\u001b[2Jgo away" } }));
  }).listen(0, "127.0.0.1");
  await once(refusing, "listening");
  const { port } = refusing.address() as AddressInfo;
  const refused = await start(`http://127.0.0.1:${port}`, ["--script", script]).ended;
  refusing.close();
  expect([refused.code, refused.err]).toEqual([
    1,
    String.raw`The server refused it (no): \u001b[2Jgo away
`,
  ]);
});

furtherTest("a script that ends without a text is told in a sentence", async () => {
  const script = join(scratch, "short.json");
  writeFileSync(script, JSON.stringify([{ code: "return 1" }]));
  await using server = await open();
  const { err } = await start(server.url, ["--script", script]).ended;
  expect(err).toContain("The script has no further turn");
  expect(err).not.toContain("Traceback");
});
