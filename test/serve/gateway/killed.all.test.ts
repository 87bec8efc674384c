import Anthropic from "@anthropic-ai/sdk";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSqliteJournal } from "portcullis";
import { expect, onTestFinished, test } from "vitest";

const PROGRAM = `const [a, b] = await Promise.all([tools.depot({ id: 1 }), tools.depot({ id: 2 })]);
return a.n + b.n;`;
const TOOLS = [
  { type: "code_execution_20260120" as const, name: "code_execution" as const },
  {
    name: "depot",
    input_schema: { type: "object" as const, properties: { id: { type: "number" } }, required: ["id"] },
    allowed_callers: ["code_execution_20260120" as const],
  },
];
const QUESTION = { role: "user" as const, content: "How many?" };

function send(response: ServerResponse, delta: object, finish: string | null = null): void {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices };
  response.write(`data: ${JSON.stringify(chunk)}\n\n`);
}

function end(response: ServerResponse, reason: string): void {
  send(response, {}, reason);
  response.end("data: [DONE]\n\n");
}

/** Writes a program, then breaks off in the midst of a text, then says it whole. */
async function startUpstream() {
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    asked += 1;
    if (asked === 1) {
      const called = { name: "run_program", arguments: JSON.stringify({ code: PROGRAM }) };
      send(response, { role: "assistant", tool_calls: [{ index: 0, id: "c1", type: "function", function: called }] });
      end(response, "tool_calls");
    } else {
      send(response, { role: "assistant", content: "I have" });
      if (asked === 2) return;
      send(response, { content: " added." });
      end(response, "stop");
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked: () => asked };
}

async function startGateway(...given: readonly string[]) {
  const fixture = fileURLToPath(new URL("../fixtures/gateway-server.ts", import.meta.url));
  const child: ChildProcess = spawn(process.execPath, ["--conditions=portcullis-source", fixture, ...given], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  onTestFinished(kill);
  const [url] = await once(child.stdout as NodeJS.ReadableStream, "data");
  const client = new Anthropic({
    baseURL: String(url).trim(),
    apiKey: "con-0123456789abcdef",
    authToken: null,
    // The lease of the killed process holds for a while: until then others are told that the server is overloaded.
    maxRetries: 8,
  });
  return { client, kill };
}

test("a server that is killed at a pause, and in the midst of a streamed answer, is asked again and answers right", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-killed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "journal.db");
  const upstream = await startUpstream();
  const body = { model: "m", max_tokens: 100, tools: TOOLS };
  const first = await startGateway(path, upstream.url);
  const paused = await first.client.messages.create({ ...body, messages: [QUESTION] });
  await first.kill();
  const calls = paused.content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
  // A busy host holds calls in any order.
  expect(new Set(calls.map(({ input }) => (input as { readonly id: number }).id))).toEqual(new Set([1, 2]));
  const results = calls.map(({ id }) => ({ type: "tool_result" as const, tool_use_id: id, content: '{"n":4}' }));
  const going = {
    ...body,
    container: paused.container?.id ?? null,
    messages: [
      QUESTION,
      { role: "assistant" as const, content: paused.content as Anthropic.ContentBlockParam[] },
      { role: "user" as const, content: results },
    ],
  };

  const second = await startGateway(path, upstream.url);
  const breaking = second.client.messages.stream(going);
  breaking.on("error", () => {});
  await breaking.emitted("text");
  await second.kill();
  await expect(breaking.finalMessage()).rejects.toThrow();

  const third = await startGateway(path, upstream.url);
  const done = await third.client.messages.stream(going).finalMessage();
  expect(done.content).toMatchObject([
    { type: "code_execution_tool_result", content: { stdout: "8", return_code: 0 } },
    { type: "text", text: "I have added." },
  ]);
  const again = await third.client.messages.create(going);
  expect(again.content).toEqual(done.content);
  await third.kill();

  // The program, the answer that broke off, and the answer.
  expect(upstream.asked()).toBe(3);
  const journal = createSqliteJournal({ path });
  const listed = await Array.fromAsync(journal.list());
  expect(listed.map(({ kind }) => kind).toSorted()).toEqual(["conversation", "program"]);
  const program = listed.find(({ kind }) => kind === "program");
  const records = await Array.fromAsync(journal.read(program?.execution ?? ""));
  expect(records.filter(({ type }) => type === "result")).toHaveLength(2);
}, 120_000);
