export { taskTool } from "../as-tools/task-tool.ts";
export { loadAgents } from "./load-agents.ts";
export { loadCommand } from "./load-command.ts";
export type { TaskToolOptions } from "../as-tools/task-tool.ts";
export type { LoadAgentsOptions } from "./load-agents.ts";
export type { Command } from "./load-command.ts";
