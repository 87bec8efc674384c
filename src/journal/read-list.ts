import { inSlices } from "../values/in-slices.ts";
import { Lane } from "../values/slice-scheduler.ts";
import type { ExecutionSummary, Journal, ListOptions } from "./journal.ts";

/**
 * The executions of a store, in its order. All readers use this: a store yields all of its executions without a pause,
 * and a hundred thousand may wait.
 */
export function readList(journal: Journal, options: ListOptions = {}): AsyncGenerator<ExecutionSummary> {
  return inSlices(journal.list(options), new Lane(options.tenant ?? ""));
}
