import { hash } from "node:crypto";
import type { ExecutionId } from "../../base/index.ts";

/**
 * Id of the execution or conversation that a call has started: the same for the same call, so that a driver that takes
 * the caller over finds it. It has the form of a UUID.
 */
export function childExecution(execution: ExecutionId, callId: string): ExecutionId {
  const digest = hash("sha256", `${execution}/${callId}`).slice(0, 32);
  return digest.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
