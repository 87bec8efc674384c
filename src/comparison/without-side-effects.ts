import { PortcullisError } from "../errors.ts";
import type { Tool } from "../tools/tool.ts";
import { isAgentTool } from "../agent/as-tools/agent-as-tool.ts";

/**
 * The tool as a measurement declares it. A measurement makes every call several times, so a tool that changes something
 * fails when it is called. An agent fails too, because the tokens of its model would not be counted.
 */
export function withoutSideEffects(tool: Tool): Tool {
  const why = isAgentTool(tool) ? "is an agent" : tool.effect === "read" ? undefined : "changes something";
  if (why === undefined) return tool;
  const handler = () => {
    throw new PortcullisError(
      "tool_failed",
      `${tool.name} ${why}, and a measurement makes every call several times: the call is not made.`,
    );
  };
  return { ...tool, output: undefined, approvable: false, needsApproval: () => false, handler };
}
