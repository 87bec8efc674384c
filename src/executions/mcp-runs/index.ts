export { LatestValue } from "./latest-value.ts";
export { type McpRequest, principalOf, readRequest } from "./request.ts";
export {
  errorResult,
  type LinkedResult,
  type McpResult,
  type MediaBlock,
  type ResourceLink,
  textResult,
} from "./result.ts";
export { type Progress, Run, type RunWork } from "./run.ts";
export { McpRuns } from "./runs.ts";
export { digestOf } from "./seal.ts";
