/* The doors that are processes of the command line, and the server of the library. Prints what a client gets through each. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createRuntime } from "portcullis";
import { createServer } from "portcullis/serve";
import tools from "./tools.ts";

const [httpUrl = "", httpToken = "", mcpUrl = "", mcpToken = ""] = process.argv.slice(2);
const PROGRAM = "return await tools.math.add({ a: 1, b: 2 });";

async function post(url: string, token: string): Promise<unknown> {
  const response = await fetch(`${url}/v1/executions`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ program: PROGRAM }),
  });
  const { outcome } = (await response.json()) as { outcome: { value?: unknown } };
  return outcome.value;
}

async function callOver(transport: Parameters<Client["connect"]>[0]): Promise<unknown> {
  const client = new Client({ name: "client", version: "1.0.0" });
  await client.connect(transport);
  const { content } = await client.callTool({ name: "run_program", arguments: { code: PROGRAM } });
  await client.close();
  return content.map((block) => (block.type === "text" ? block.text : ""));
}

const found: Record<string, unknown> = {};
found["portcullis serve"] = await post(httpUrl, httpToken);
const headers = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });
found["portcullis serve, /mcp"] = await callOver(
  new StreamableHTTPClientTransport(new URL(`${httpUrl}/mcp`), headers(httpToken)),
);
found["portcullis mcp --http"] = await callOver(new StreamableHTTPClientTransport(new URL(mcpUrl), headers(mcpToken)));
const args = ["node_modules/portcullis/dist/src/cli.js", "mcp", "--tools", "tools.ts"];
found["portcullis mcp"] = await callOver(
  new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }),
);

await using runtime = await createRuntime({ tools });
const server = await createServer(runtime, { token: "a-token-for-this-page" });
const own = createHttpServer(server.listener).listen(0, "127.0.0.1");
await once(own, "listening");
const address = own.address();
found["createServer"] = await post(
  `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
  "a-token-for-this-page",
);
own.close();
await server.close();
process.stdout.write(JSON.stringify(found));
