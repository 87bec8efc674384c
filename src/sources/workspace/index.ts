export { type WorkspaceOptions, workspaceTools } from "./workspace-tools.ts";
