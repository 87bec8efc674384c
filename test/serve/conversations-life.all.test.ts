import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createRuntime, createSqliteJournal } from "portcullis";
import { createServer } from "portcullis/serve";
import { createMemorySandbox } from "portcullis/testing";
import { afterAll, expect, test } from "vitest";
import { DYING_TOKEN, LEASE_MS } from "./dying.ts";
import model from "./fixtures/echo-model.ts";
import { openServerProcess } from "./processes.ts";
import { ask } from "./servers.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-conversations-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
const MODEL = fixture("echo-model.ts");

test("a server that is killed in the midst of a turn has lost no message, and an interruption holds for the next server", async () => {
  const path = join(folder, "killed.db");
  const args = ["--conditions=portcullis-source", fixture("dying-server.ts"), path];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  expect(String(said)).toBe("asked\n");
  child.kill("SIGKILL");
  await once(child, "exit");

  const journal = createSqliteJournal({ path });
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox(), journal, leaseMs: LEASE_MS });
  const server = await createServer(runtime, { token: DYING_TOKEN, model });
  const asked = (method: string, at: string, body?: object) =>
    ask(server, method, `/v1/conversations/${at}`, { key: DYING_TOKEN, body });
  // The dead server's lease ends first.
  const interrupt = () => asked("POST", "interrupted/interrupt", {});
  await expect.poll(async () => (await interrupt()).status, { timeout: 20_000 }).toBe(200);
  await expect.poll(() => server.recover(), { timeout: 20_000 }).toBe(1);
  expect((await asked("GET", "continued")).json).toMatchObject({
    state: "waiting",
    conversation: { said: 1, turns: 1, ending: { type: "answered", answer: "heard one" } },
  });
  expect((await asked("GET", "interrupted")).json).toMatchObject({
    state: "waiting",
    conversation: { said: 1, turns: 0, ending: { type: "cancelled" } },
  });
  const again = await asked("POST", "interrupted", { message: "two", expect: 1 });
  expect(again.json.conversation.ending.answer).toBe("heard two");
  await server.close({ drainMs: 0 });
  journal[Symbol.dispose]();
}, 60_000);

test("`portcullis serve --model` has the models that it names, within its bounds, and the document's requests are answered", async () => {
  const document = readFileSync(new URL("../../docs/http.md", import.meta.url), "utf8");
  const [, commands = ""] = /^## Conversations$[^]*?^```shell\n([^]*?)^```$/m.exec(document) ?? [];
  const options = ["--model", MODEL, "--max-turns", "3", "--max-tokens", "5000"];
  await using server = await openServerProcess(...options, "--journal", join(folder, "cli.db"));
  expect(await (await server.ask("GET", "/v1/models")).json()).toMatchObject({
    models: [model.name],
    maxTurns: 3,
    maxTokens: 5000,
  });
  const { stdout } = await promisify(execFile)(
    "sh",
    ["-ec", commands.replaceAll("http://127.0.0.1:7332", server.url)],
    {
      env: { ...process.env, KEY: server.token },
    },
  );
  for (const answer of ["heard What has Ann ordered?", "heard And Bob?"]) expect(stdout).toContain(answer);
  expect(await server.end("SIGTERM")).toBe(0);
  await using next = await openServerProcess(...options, "--journal", join(folder, "cli.db"));
  const said = await next.ask("POST", "/v1/conversations/chat-1", { message: "And now?", expect: 2 });
  expect(await said.json()).toMatchObject({ conversation: { said: 3, ending: { answer: "heard And now?" } } });
}, 60_000);
