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
const APPLICABLE = `server-initialize ping tools-list tools-call-simple-text tools-call-image tools-call-audio
tools-call-embedded-resource tools-call-mixed-content tools-call-error tools-call-elicitation json-schema-2020-12
server-sse-multiple-streams resources-list dns-rebinding-protection`.split(/\s/);

/** The others, by why a door has nothing of what they ask for. */
const OTHERS: Readonly<Record<string, string>> = {
  "the door sends no log messages, and does not say that it does": "logging-set-level tools-call-with-logging",
  "there are no prompts or templates": `completion-complete prompts-list prompts-get-simple prompts-get-with-args
prompts-get-embedded-resource prompts-get-with-image resources-templates-read`,
  "handlers tell no progress, programs do, and not in steps of 0, 50 and 100": "tools-call-with-progress",
  "handlers cannot use the client's model": "tools-call-sampling",
  "the door asks for approval, and for no forms of others": "elicitation-sep1034-defaults elicitation-sep1330-enums",
  "a program's result is collected by its id, not by a stream that is closed": "server-sse-polling",
  "resources are values of calls, which have no fixed addresses and do not change": `resources-read-text
resources-read-binary resources-subscribe resources-unsubscribe`,
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
  expect(scenarios.map(String).toSorted()).toEqual(
    [...APPLICABLE, ...Object.values(OTHERS).flatMap((names) => names.split(/\s/))].toSorted(),
  );
});

test.each(APPLICABLE)("the conformance suite of the protocol: %s", (scenario) => {
  const lines = printed.filter((line) => line.includes(` ${scenario}: `));
  expect(lines).toEqual([expect.stringMatching(/^✓ \S+: [1-9]\d* passed, 0 failed$/)]);
});
