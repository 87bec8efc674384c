/*
 * The sources that connect to something, loaded with the first such source: most programs have none, and their code would
 * take a third of the time in which this package is loaded.
 */
import type { McpSource } from "./mcp/from-mcp.ts";
import type { McpConfig } from "./mcp/config/mcp-config.ts";
import type { McpServer } from "./mcp/mcp-options.ts";
import type { McpPolicies } from "./mcp/make-tools.ts";
import type { OpenApiOptions, OpenApiPolicies, OpenApiSource } from "./openapi/from-openapi.ts";

/**
 * Connects to an MCP server and makes its tools callable through the gate. The caller disposes of the source. Rejects
 * with `option_invalid` for an option or a policy, and with `source_unavailable` if the server cannot be started or
 * reached, or does not list its tools in time; then nothing is left running.
 */
export async function fromMcp(server: McpServer, policies?: McpPolicies): Promise<McpSource> {
  return (await import("./mcp/from-mcp.ts")).fromMcp(server, policies);
}

/**
 * Connects to the servers of a configuration file: `.mcp.json` and the like (`mcpServers`), or `.vscode/mcp.json`
 * (`servers`). Who may call their tools stands under `portcullis`; if the file says nothing of a tool, `policies` is
 * asked, by the name that the tool has in a program. Rejects with `option_invalid` for a file that is invalid, a variable
 * that is not set and a tool that does not exist, and as `fromMcp` does; then nothing is left running.
 */
export async function fromMcpConfig(
  ...args: Parameters<typeof import("./mcp/config/mcp-config.ts").fromMcpConfig>
): Promise<McpConfig> {
  return (await import("./mcp/config/mcp-config.ts")).fromMcpConfig(...args);
}

/**
 * Makes tools of the operations of an API that a document describes: Swagger 2.0, OpenAPI 3.0 or 3.1. Requests leave from
 * the host, to `baseUrl` only. Rejects with `option_invalid` for an option or a policy, `source_invalid` for what is no such
 * document or has more than 50,000 operations, and `source_unavailable` if a library is missing.
 */
export async function fromOpenApi(options: OpenApiOptions, policies?: OpenApiPolicies): Promise<OpenApiSource> {
  return (await import("./openapi/from-openapi.ts")).fromOpenApi(options, policies);
}
