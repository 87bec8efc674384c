export { type McpRequest, principalOf, readMcpRequest } from "./request.ts";
export * from "./result.ts";
export { LatestValue, type Progress, Run, type RunWork } from "./run.ts";
export { McpRuns } from "./runs.ts";
export { digestOf } from "./seal.ts";
