export { taskTool } from "../as-tools/task-tool.ts";
export { loadAgents, type LoadAgentsOptions } from "./load-agents.ts";
