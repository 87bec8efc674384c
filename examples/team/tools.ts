import { fileURLToPath } from "node:url";
import { loadAgents, taskTool } from "portcullis/agents";
import { workspaceTools } from "portcullis/workspace";

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Stands of the fair, and agents that are asked at once. */
export const STANDS = 20;

const agents = await loadAgents(pathOf("agents"), {
  tools: workspaceTools({ root: pathOf("files") }),
  allowedCallers: ["programmatic"],
  concurrency: STANDS,
});

export default [taskTool(agents)];
