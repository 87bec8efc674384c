import { PortcullisError } from "../errors.ts";
import type { Tool } from "../tools/tool.ts";
import { isAgentTool } from "../agent/agent-as-tool.ts";

/**
 * A tool that may be called in a measurement, which makes every call several times: what changes something is declared,
 * and not done, and no model is asked but the one that is measured, for nobody would count what others cost.
 */
export function withoutSideEffects(tool: Tool): Tool {
  const why = isAgentTool(tool) ? "is an agent" : tool.effect === "read" ? undefined : "changes something";
  if (why === undefined) return tool;
  const handler = () => {
    throw new PortcullisError(
      "tool_failed",
      `${tool.name} ${why}, and a measurement makes every call several times: it is not done.`,
    );
  };
  return { ...tool, output: undefined, approvable: false, needsApproval: () => false, handler };
}
