import { z } from "zod";
import { PROGRAM_SCHEMA } from "../models/program-input.ts";
import type { McpResult } from "./mcp-result.ts";
import { McpRuns } from "./mcp-runs.ts";
import type { ProgramTool } from "./program-tool.ts";

interface McpToolConfig {
  title: string;
  description: string;
  inputSchema: z.ZodObject<{ code: z.ZodString }>;
  annotations: { readOnlyHint: boolean };
}

/** `context` is the second argument that the server gives to a handler. */
type McpHandler = (input: { readonly code: string }, context: object) => Promise<McpResult>;

/** The arguments of an MCP server's `registerTool`. */
export interface McpTool {
  readonly name: string;
  readonly config: McpToolConfig;
  readonly handler: McpHandler;
}

export function mcpTool(program: ProgramTool): McpTool {
  const runs = new McpRuns(program);
  const { name, description, onlyReads } = program;
  return {
    name,
    config: {
      title: "Run a program",
      description,
      inputSchema: z.object({ code: z.string().describe(PROGRAM_SCHEMA.properties.code.description) }),
      annotations: { readOnlyHint: onlyReads },
    },
    handler: (input, context) => runs.handle(input.code, context),
  };
}
