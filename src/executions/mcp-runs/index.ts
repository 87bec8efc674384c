export { LatestValue } from "./latest-value.ts";
export { type McpRequest, principalOf, readRequest } from "./request.ts";
export * from "./result.ts";
export { type Progress, Run, type RunWork } from "./run.ts";
export { McpRuns } from "./runs.ts";
export { digestOf } from "./seal.ts";
