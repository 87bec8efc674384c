import { checkValue, oneOf, type OptionsOf, readOptions } from "../option-rules/options.ts";
import type { SearchInput } from "../tools/search/search-tool.ts";
import { APPROVE, CONTEXT, type WithContext } from "../programs/execute-options.ts";
import { type AiSdkTool, aiSdkTool } from "./ai-sdk.ts";
import { type AnthropicRunnable, anthropicRunnable } from "./anthropic.ts";
import { type LangChainTool, langChainTool } from "./langchain.ts";
import { type McpSearchFields, mcpSearch, type McpTool, mcpTool } from "./mcp.ts";
import { type AgentsTool, agentsTool } from "./openai-agents.ts";
import { type LoopTool, type ProgramHost, ProgramTool } from "./program-tool.ts";
import { LoopSearch } from "./search-tool.ts";

const SUBJECT = "asTool";

export const AS_TOOL_RULES = {
  /** The host's own value for all programs of the tool. Handlers and `approve` get it; a program and a model do not. */
  context: CONTEXT,
  /**
   * Decides about calls that need approval, in place of the runtime's `approve`. If neither is given, an MCP client
   * asks its user if it can; otherwise the call is denied.
   */
  approve: APPROVE,
};

export type AsToolOptions<Context = unknown> = WithContext<OptionsOf<typeof AS_TOOL_RULES>, Context>;

/**
 * The tools of each loop, by the name that the model calls them by. `search_tools` is there if the tools for programs
 * are too many to be listed in the description of `run_program`.
 */
export interface LoopTools {
  /** For `tools` of the AI SDK's `generateText` and `streamText`, and of a Mastra agent. */
  readonly "ai-sdk": { readonly run_program: AiSdkTool; readonly search_tools?: AiSdkTool<SearchInput> };
  /** For `tools` of the tool runner of `@anthropic-ai/sdk`. */
  readonly anthropic: { readonly run_program: AnthropicRunnable; readonly search_tools?: AnthropicRunnable };
  /** For `tools` of an `Agent` of OpenAI Agents. */
  readonly "openai-agents": { readonly run_program: AgentsTool; readonly search_tools?: AgentsTool };
  /** For `tool(func, fields)` of `@langchain/core/tools`: its `func` and `fields`. */
  readonly langchain: { readonly run_program: LangChainTool; readonly search_tools?: LangChainTool };
  /** For `registerTool` of an MCP server: its `name`, `config` and `handler`. */
  readonly mcp: { readonly run_program: McpTool; readonly search_tools?: McpTool<McpSearchFields> };
}

export type LoopName = keyof LoopTools;

function bothBy<Tool>(toolOf: (tool: LoopTool) => Tool) {
  return (program: ProgramTool, search: LoopSearch | undefined) => ({
    run_program: toolOf(program),
    ...(search && { search_tools: toolOf(search) }),
  });
}

const LOOPS: {
  readonly [Loop in LoopName]: (program: ProgramTool, search: LoopSearch | undefined) => LoopTools[Loop];
} = {
  "ai-sdk": (program, search) => ({
    run_program: aiSdkTool(program),
    ...(search && { search_tools: aiSdkTool(search) }),
  }),
  anthropic: bothBy(anthropicRunnable),
  "openai-agents": bothBy(agentsTool),
  langchain: bothBy(langChainTool),
  mcp: (program, search) => ({ run_program: mcpTool(program), ...(search && { search_tools: mcpSearch(search) }) }),
};

export const LOOP_NAMES = Object.keys(LOOPS);

/** The tools of a loop. Throws `option_invalid` for an unknown loop or option. */
export function toolsFor<Loop extends LoopName>(loop: Loop, options: object, host: ProgramHost): LoopTools[Loop] {
  checkValue(`${SUBJECT}(loop)`, loop, oneOf(LOOP_NAMES));
  const own = readOptions(SUBJECT, options, AS_TOOL_RULES);
  const { search } = host.programs;
  return LOOPS[loop](
    new ProgramTool(host, own),
    search && new LoopSearch(search, (input, signal) => host.search(input, own.context, signal)),
  );
}
