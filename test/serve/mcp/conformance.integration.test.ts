import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openOwnDoor, type OwnDoor } from "./doors.ts";
import tools from "./fixtures/conformance-tools.ts";

const suite = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json")),
  "dist/index.js",
);

/** Scenarios that a door can pass. */
const APPLICABLE = [
  "server-initialize",
  "ping",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-image",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-mixed-content",
  "tools-call-error",
  "tools-call-elicitation",
  "json-schema-2020-12",
  "server-sse-multiple-streams",
  "resources-list",
  "dns-rebinding-protection",
];

/** The others, and why a door has nothing of what they ask for. */
const OTHERS: Readonly<Record<string, string>> = {
  "logging-set-level": "the door sends no log messages, and does not say that it does",
  "completion-complete": "there are no prompts or templates to complete",
  "tools-call-with-logging": "handlers have no log messages for clients",
  "tools-call-with-progress": "wants steps of 0, 50 and 100 of one call: handlers tell no progress, programs do",
  "tools-call-sampling": "handlers cannot use the client's model",
  "elicitation-sep1034-defaults": "wants forms of its own: the door asks for approval, and nothing else",
  "elicitation-sep1330-enums": "wants forms of its own: the door asks for approval, and nothing else",
  "server-sse-polling": "wants a tool that closes its stream: a program's result is collected by its id",
  "resources-read-text": "wants resources with fixed addresses: those of the door are values of calls",
  "resources-read-binary": "wants resources with fixed addresses: those of the door are values of calls",
  "resources-templates-read": "wants a template: those of the door are values of calls",
  "resources-subscribe": "values of calls do not change",
  "resources-unsubscribe": "values of calls do not change",
  "prompts-list": "there are no prompts",
  "prompts-get-simple": "there are no prompts",
  "prompts-get-with-args": "there are no prompts",
  "prompts-get-embedded-resource": "there are no prompts",
  "prompts-get-with-image": "there are no prompts",
};

let door: OwnDoor;
let proxy: Server;
let url = "";
let folder = "";

/** The suite sends no key. This adds it, and passes the rest on as it is. */
function withKey({ url: target, token }: OwnDoor): Server {
  const { port } = new URL(target);
  return createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const passed = request(
      { host: "127.0.0.1", port, method, path, headers: { ...headers, authorization: `Bearer ${token}` } },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      },
    );
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-conformance-"));
  door = await openOwnDoor({}, tools);
  proxy = withKey(door).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await door[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** What the suite prints of all scenarios, which one process runs: to load the suite takes longer than most of them. */
let printed: readonly string[] = [];
beforeAll(async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [suite, "server", "--url", url, "--suite", "all"], {
    cwd: folder,
  }).catch((error: { readonly stdout: string }) => error);
  printed = stdout.split("\n").filter((line) => /^[✓✗] /.test(line));
});

test("each scenario for servers is passed, or it is said why it cannot be", () => {
  const scenarios = printed.map((line) => / (\S+): /.exec(line)?.[1]);
  expect(new Set(scenarios)).toEqual(new Set([...APPLICABLE, ...Object.keys(OTHERS)]));
  expect(scenarios).toHaveLength(APPLICABLE.length + Object.keys(OTHERS).length);
});

test.each(APPLICABLE)("the conformance suite of the protocol: %s", (scenario) => {
  const lines = printed.filter((line) => line.includes(` ${scenario}: `));
  expect(lines).toEqual([expect.stringMatching(/^✓ \S+: [1-9]\d* passed, 0 failed$/)]);
});
