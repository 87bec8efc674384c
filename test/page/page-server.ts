import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Runtime } from "../../src/index.ts";
import { PortcullisError } from "../../src/index.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { PAGE_HEADERS, pageFile } from "../../src/serve/page/page-files.ts";
import { listView } from "../../src/views/list-view.ts";
import { viewCall } from "../../src/views/view-call.ts";
import { viewExecution } from "../../src/views/view-execution.ts";

export const TOKEN = "a-token-of-the-tests";

export interface PageServer extends AsyncDisposable {
  readonly url: string;
}

/** Serves the page and what it asks for. */
export async function pageServer(runtime: Runtime, journal: Journal): Promise<PageServer> {
  const server = createServer((request, response) => {
    answer(runtime, journal, request, response).catch((error: unknown) => {
      const status = PortcullisError.is(error) && error.code === "execution_unknown" ? 404 : 409;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: error instanceof Error ? error.message : String(error) } }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function answer(runtime: Runtime, journal: Journal, request: IncomingMessage, response: ServerResponse) {
  const url = new URL(request.url ?? "/", "http://localhost");
  const file = pageFile(url.pathname);
  if (file) {
    response.writeHead(200, { ...PAGE_HEADERS, "content-type": file.type });
    return response.end(file.body);
  }
  if (request.headers.authorization !== `Bearer ${TOKEN}`) {
    response.writeHead(401, { "content-type": "application/json" });
    return response.end('{"error":{"message":"A key is needed."}}');
  }
  const [, , , id, what, call] = url.pathname.split("/").map(decodeURIComponent);
  const json = (value: unknown) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  };
  if (id === undefined) return json(await listView(journal, Object.fromEntries(url.searchParams)));
  if (what === "view") return json(await viewExecution(journal, id));
  if (what === "calls") return json(await viewCall(journal, id, call ?? ""));
  if (what === "events") return sendEvents(journal, id, response);
  const { decisions } = JSON.parse(await bodyOf(request)) as { decisions: Parameters<Runtime["decide"]>[1] };
  await runtime.decide(id, decisions);
  void runtime.resume(id);
  return json({});
}

/** Looks at the journal again and again: these tests need no more. */
async function sendEvents(journal: Journal, id: string, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  let sent = 0;
  while (!response.destroyed) {
    const { records, ended } = await journal.find(id);
    if (records > sent) response.write(`id: ${records}\ndata: {}\n\n`);
    sent = records;
    if (ended) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  response.end();
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return body;
}
