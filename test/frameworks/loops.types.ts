import type Anthropic from "@anthropic-ai/sdk";
import { type StructuredToolInterface, tool } from "@langchain/core/tools";
import type { McpServer } from "@modelcontextprotocol/server";
import type { Agent } from "@openai/agents";
import type { generateText, Tool, ToolSet } from "ai";
import type { Runtime } from "../../src/index.ts";

// Compiles only if each loop takes its tools without a cast.

declare const runtime: Runtime;
declare const server: McpServer;

(await runtime.asTool("ai-sdk")) satisfies ToolSet;
(await runtime.asTool("ai-sdk")).run_program satisfies Tool<{ code: string }, string>;
({ tools: await runtime.asTool("ai-sdk") }) satisfies Pick<Parameters<typeof generateText>[0], "tools">;

({ tools: [(await runtime.asTool("anthropic")).run_program] }) satisfies Pick<
  Parameters<Anthropic["beta"]["messages"]["toolRunner"]>[0],
  "tools"
>;

[(await runtime.asTool("openai-agents")).run_program] satisfies Agent["tools"];

const { func, fields } = (await runtime.asTool("langchain")).run_program;
tool(func, fields) satisfies StructuredToolInterface;

const { name, config, handler } = (await runtime.asTool("mcp")).run_program;
server.registerTool(name, config, handler);

// @ts-expect-error There is no such loop.
await runtime.asTool("gemini");
// @ts-expect-error There is no such option.
await runtime.asTool("mcp", { approves: () => true });
