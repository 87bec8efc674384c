export { taskTool } from "./agent/as-tools/task-tool.ts";
export { loadAgents } from "./agent/files/load-agents.ts";
export { loadCommand } from "./agent/files/load-command.ts";
export type { TaskToolOptions } from "./agent/as-tools/task-tool.ts";
export type { LoadAgentsOptions } from "./agent/files/load-agents.ts";
export type { Command } from "./agent/files/load-command.ts";
