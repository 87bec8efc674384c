import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, type McpServer } from "@modelcontextprotocol/server";
import { INPUT } from "./question.ts";

/** Connects a client to a server, and calls its `run_program` once. */
export async function callOnce(server: McpServer): Promise<string> {
  const client = new Client({ name: "client", version: "1.0.0" });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(one), client.connect(other)]);
  const { content } = await client.callTool({ name: "run_program", arguments: INPUT });
  await client.close();
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
