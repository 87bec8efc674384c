import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, test } from "vitest";
import { OwnedFleet, openOwner, ownersTools, SECRET } from "./owned-fleet.ts";

/** An owner's tools, and a server in its place that answers calls as a test wants. */
async function open(answer: (response: ServerResponse, request: IncomingMessage, call: string) => void) {
  const stack = new AsyncDisposableStack();
  const owner = stack.use(await openOwner({ tools: ownersTools([]) }));
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    response.on("error", () => {});
    if (request.url === "/v1/ready") return void response.end("{}");
    if (request.url === "/v1/tools")
      return void fetch(`${owner.url}/v1/tools`, { headers: { authorization: String(request.headers.authorization) } })
        .then((got) => got.text())
        .then((text) => response.end(text));
    request.resume();
    const call = String(request.headers["portcullis-call"]);
    response.setHeader("portcullis-call", call);
    return answer(response, request, call);
  });
  server.on("connection", (socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fleet = stack.use(new OwnedFleet());
  const runtime = await fleet.runtime();
  await fleet.worker([url], { limits: { wallMs: 20_000 } });
  return {
    /** What a program gets of one call. */
    async call(tool = "crm.get"): Promise<unknown> {
      const id = await runtime.submit(
        `try { return await tools.${tool}({ n: 1 }); } catch (error) { return [error.code, error.message]; }`,
        { owner: { url, key: SECRET } },
      );
      const { report } = await runtime.wait(id);
      return report?.outcome.type === "completed" ? report.outcome.value : report?.outcome;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const body = (value: unknown) => JSON.stringify(value);

test.each([
  ["no JSON", "{"],
  ["another form", '{"ok":"yes"}'],
  ["more fields", '{"ok":true,"value":1,"more":2}'],
  ["nothing", ""],
  ["a source that is none", '{"ok":true,"value":1,"shown":{"source":5}}'],
  ["300 levels", `{"ok":true,"value":${"[".repeat(300)}${"]".repeat(300)}}`],
])("an answer with %s is a failure of the call, and says nothing of it", async (_, text) => {
  await using one = await open((response) => void response.end(text));
  expect(await one.call()).toEqual(["source_unavailable", "crm.get failed: its owner's answer cannot be read."]);
});

test("an answer to another call is none", async () => {
  await using one = await open((response) => {
    response.setHeader("portcullis-call", "77");
    response.end(body({ ok: true, value: 5 }));
  });
  expect(await one.call()).toEqual(["source_unavailable", "crm.get failed: its owner's answer cannot be read."]);
});

test.each([
  ["that says its length", true],
  ["without its length", false],
])("an answer of a gigabyte %s is given up at the limit", async (_, says) => {
  let sent = 0;
  await using one = await open((response) => {
    if (says) response.setHeader("content-length", 2 ** 30);
    const more = () => {
      while (!response.destroyed && sent < 2 ** 30) {
        sent += 2 ** 20;
        if (!response.write(Buffer.alloc(2 ** 20, "x"))) return void response.once("drain", more);
      }
    };
    more();
  });
  expect(await one.call()).toMatchObject(["result_too_large", expect.any(String)]);
  expect(sent).toBeLessThan(2 ** 28);
});

test("codes and values of an owner's failures are what a gate could have said, and its sentences are bounded", async () => {
  const answers = [
    { ok: false, code: "output_invalid", message: "x".repeat(100_000) },
    { ok: false, code: "constructor", message: "m", value: { why: 1 } },
    { ok: false, code: "outcome_unknown", message: "m" },
    { ok: false, code: "approval_denied", message: "m" },
  ];
  await using one = await open((response) => void response.end(body(answers.shift())));
  expect(await one.call()).toEqual(["output_invalid", expect.stringMatching(/^x{1,4000}/) as string]);
  for (let n = 0; n < 3; n += 1) expect(await one.call()).toMatchObject(["handler_failed", "m"]);
});

test("a result that the declared schema does not take is refused by the worker's gate too", async () => {
  await using one = await open((response) => void response.end(body({ ok: true, value: 11 })));
  expect(await one.call("even")).toMatchObject(["output_invalid", expect.any(String)]);
});

test("a second answer on the same connection reaches no call", async () => {
  let count = 0;
  await using one = await open((response) => {
    count += 1;
    const first = body({ ok: true, value: count });
    response.end(first);
    response.socket?.write(`HTTP/1.1 200 OK\r\ncontent-length: 26\r\n\r\n${body({ ok: true, value: "stray" })}`);
  });
  expect(await one.call()).toBe(1);
  expect(await one.call()).toBe(2);
  expect(await one.call()).toBe(3);
});

test("an owner that redirects is not followed, and whether it has passed a write on is not known", async () => {
  const asked: string[] = [];
  await using one = await open((response, request) => {
    asked.push(String(request.url));
    response.writeHead(307, { location: "http://169.254.169.254/latest" }).end();
  });
  expect(await one.call("crm.put")).toMatchObject({
    type: "waiting",
    approvals: [{ tool: "crm.put", why: "outcome_unknown" }],
  });
  expect(new Set(asked)).toEqual(new Set(["/v1/calls"]));
});
