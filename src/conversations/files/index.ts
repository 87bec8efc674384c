export { taskTool } from "../as-tools/agent-as-tool.ts";
export { loadAgents, type LoadAgentsOptions } from "./agent-file.ts";
