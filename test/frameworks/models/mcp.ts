import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import type { AsToolOptions, Runtime } from "../../../src/index.ts";

async function serverFor(runtime: Runtime, options?: AsToolOptions): Promise<McpServer> {
  const server = new McpServer({ name: "server", version: "1.0.0" });
  const { run_program } = await runtime.asTool("mcp", options);
  server.registerTool(run_program.name, run_program.config, run_program.handler);
  return server;
}

/** Servers up to protocol 2025-11-25 send a request to the client. */
export async function connectBefore2026(runtime: Runtime, client: Client, options?: AsToolOptions) {
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([(await serverFor(runtime, options)).connect(one), client.connect(other)]);
  return { client, [Symbol.asyncDispose]: () => client.close() };
}

/** Later ones answer that they need input; each request gets a server of its own. */
export async function connectFrom2026(runtime: Runtime, client: Client) {
  const handler = createMcpHandler(() => serverFor(runtime));
  const fetch = (url: string | URL, init?: RequestInit) => handler.fetch(new Request(url, init));
  await client.connect(new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), { fetch }));
  return { client, [Symbol.asyncDispose]: () => client.close() };
}

type Answer = {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Record<string, boolean | number>;
};

/** A client with the questions that its user was asked; without an answer it cannot ask. */
export function clientThat(answer?: () => Answer): { readonly client: Client; readonly asked: string[] } {
  const asked: string[] = [];
  const capabilities = answer ? { elicitation: { form: {} } } : {};
  const client = new Client(
    { name: "client", version: "1.0.0" },
    { versionNegotiation: { mode: "auto" }, capabilities },
  );
  if (answer)
    client.setRequestHandler("elicitation/create", ({ params }) => {
      asked.push(params.message);
      return answer();
    });
  return { client, asked };
}

export async function textOf(client: Client, code: string): Promise<string> {
  const { content } = await client.callTool({ name: "run_program", arguments: { code } });
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
