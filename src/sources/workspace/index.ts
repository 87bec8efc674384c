export { workspaceTools } from "./workspace-tools.ts";
export type { WorkspaceOptions } from "./workspace-tools.ts";
