import type Anthropic from "@anthropic-ai/sdk";
import { type StructuredToolInterface, tool } from "@langchain/core/tools";
import type { McpServer } from "@modelcontextprotocol/server";
import type { Agent } from "@openai/agents";
import type { generateText, Tool, ToolSet } from "ai";
import type { Runtime } from "../../src/index.ts";

// Compiles only if each loop takes its tools without a cast.

declare const runtime: Runtime;
declare const server: McpServer;

runtime.asTool("ai-sdk") satisfies ToolSet;
runtime.asTool("ai-sdk").run_program satisfies Tool<{ code: string }, string>;
({ tools: runtime.asTool("ai-sdk") }) satisfies Pick<Parameters<typeof generateText>[0], "tools">;

({ tools: [runtime.asTool("anthropic").run_program] }) satisfies Pick<
  Parameters<Anthropic["beta"]["messages"]["toolRunner"]>[0],
  "tools"
>;

[runtime.asTool("openai-agents").run_program] satisfies Agent["tools"];

const { func, fields } = runtime.asTool("langchain").run_program;
tool(func, fields) satisfies StructuredToolInterface;

const { name, config, handler } = runtime.asTool("mcp").run_program;
server.registerTool(name, config, handler);

// @ts-expect-error There is no such loop.
runtime.asTool("gemini");
// @ts-expect-error There is no such option.
runtime.asTool("mcp", { approves: () => true });
