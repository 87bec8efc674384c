import type { ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import type { McpServer } from "../../../src/index.ts";
import { makeRawServer, type Received } from "./fixtures/raw-server.ts";
import { serve } from "./http-servers.ts";
import { CONNECT_MS } from "./servers.ts";

/** What a server has been told to note, and what it knows of its environment. */
interface ServedRaw {
  readonly notes?: string[];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * The server of `rawServer` over HTTP in this process, until the test ends. What it says goes into the stream of its request,
 * or of the youngest open one if it is a question or a notice.
 */
export async function servedRaw(mode: string, { notes = [], env = {} }: ServedRaw = {}): Promise<McpServer> {
  const open = new Map<unknown, ServerResponse>();
  let notices: ServerResponse | undefined;
  const say = (line: string) => {
    const { id, method } = JSON.parse(line) as Received;
    const isAnswer = method === undefined && open.has(id);
    const response = isAnswer ? open.get(id) : ([...open.values()].at(-1) ?? notices);
    response?.write(`data: ${line}\n\n`);
    if (!isAnswer) return;
    response?.end();
    open.delete(id);
  };
  const take = makeRawServer(mode, {
    write: (text) => text.split("\n").filter(Boolean).forEach(say),
    note: (text) => void notes.push(text),
    env,
  });
  const server = await serve((request, body, response) => {
    if (request.method === "DELETE") return response.writeHead(200).end();
    const isStream = request.method === "GET";
    const message = isStream ? undefined : (JSON.parse(body.toString()) as Received);
    if (message && (message.method === undefined || message.id === undefined)) {
      response.writeHead(202).end();
      return take(message);
    }
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    if (!message) return (notices = response);
    open.set(message.id, response);
    return take(message);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { name: "raw", url: server.url, connectTimeoutMs: CONNECT_MS };
}
