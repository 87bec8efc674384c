import { hash } from "node:crypto";
import type { ExecutionId } from "../../journal/execution-id.ts";

/**
 * Id of the execution or conversation that a call has started: the same for the same call, so that a driver that takes
 * the caller over finds it. It has the form of a UUID.
 */
export function childExecution(execution: ExecutionId, callId: string): ExecutionId {
  const digest = hash("sha256", `${execution}/${callId}`);
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    digest.slice(12, 16),
    digest.slice(16, 20),
    digest.slice(20, 32),
  ].join("-");
}
