import { z } from "zod";
import { PROGRAM_SCHEMA } from "../models/turn/index.ts";
import {
  digestOf,
  errorResult,
  type McpResult,
  McpRuns,
  principalOf,
  readMcpRequest,
  textResult,
} from "../executions/mcp-runs/index.ts";
import { SEARCH_INPUT } from "../tools/search/index.ts";
import { isFailure, type LoopTool, type ProgramTool } from "./program-tool.ts";
import type { ToolSet } from "../tools/tool-set.ts";

/** The arguments of an MCP server's `registerTool`. */
export interface McpTool<Fields extends z.ZodRawShape = { code: z.ZodString }> {
  readonly name: string;
  readonly config: {
    title: string;
    description: string;
    inputSchema: z.ZodObject<Fields>;
    annotations: { readOnlyHint: boolean };
  };
  /** `context` is the second argument that the server gives to a handler. */
  readonly handler: (input: z.output<z.ZodObject<Fields>>, context: object) => Promise<McpResult>;
}

/** The runs of a runtime, by its tools: a server that is made anew for each request finds them again. */
const runsOf = new WeakMap<ToolSet, McpRuns>();

export function mcpTool(program: ProgramTool): McpTool {
  const runs = runsOf.get(program.tools) ?? new McpRuns();
  runsOf.set(program.tools, runs);
  const { name, description, onlyReads } = program;
  return {
    name,
    config: {
      title: "Run a program",
      description,
      inputSchema: z.object({ code: z.string().describe(PROGRAM_SCHEMA.properties.code.description) }),
      annotations: { readOnlyHint: onlyReads },
    },
    // Programs give no links.
    handler: async ({ code }, context) =>
      (await runs.handle(
        {
          principal: principalOf(context),
          ...digestOf(name, { code }),
          who: "A program",
          start: (work) => program.run({ code }, work).then(textResult, failureOf),
        },
        readMcpRequest(context),
      )) as McpResult,
  };
}

/** The fields of a search; the gate checks their bounds. */
export type McpSearchFields = { query: z.ZodString; limit: z.ZodOptional<z.ZodNumber> };

export function mcpSearch(search: LoopTool): McpTool<McpSearchFields> {
  const { query, limit } = SEARCH_INPUT.properties;
  return {
    name: search.name,
    config: {
      title: "Search for tools",
      description: search.description,
      inputSchema: z.object({
        query: z.string().describe(query.description),
        limit: z.number().optional().describe(limit.description),
      }),
      annotations: { readOnlyHint: true },
    },
    handler: (input, context) =>
      search.run(input, { signal: readMcpRequest(context).signal }).then(textResult, failureOf),
  };
}

function failureOf(error: unknown): McpResult {
  if (isFailure(error)) return errorResult(error.message);
  throw error;
}
