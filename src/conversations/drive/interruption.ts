import { PortcullisError, hasCode } from "../../base/index.ts";

export function interruptedError(): PortcullisError {
  return new PortcullisError(
    "conversation_interrupted",
    "The user interrupted. The conversation continues with the next message.",
  );
}

export function cancelledError(): Error {
  return new Error("A client has cancelled it.");
}

/** The reason with which all ends that a key of a server has under way. */
export function keyRevoked(): PortcullisError {
  return new PortcullisError(
    "key_revoked",
    "This key was changed or revoked, or has expired. What it had under way was ended.",
  );
}

/** The reasons with which a process ends what another one drives. */
export const REASONS = { cancel: cancelledError, interrupt: interruptedError, revoke: keyRevoked };

export function isInterruption(reason: unknown): boolean {
  return hasCode(reason, "conversation_interrupted");
}

/** What a model reads of a call without an answer. `signal` is the signal that ended the call. */
export function unansweredText({ reason }: AbortSignal): string {
  return isInterruption(reason)
    ? "The user interrupted before this call had an answer."
    : "The conversation was ended before this call had an answer.";
}
