import type { Approve } from "../../gate/approval.ts";

/**
 * Asks once about each call: a later call of the same tool with the same input gets the same decision. For measurements,
 * which make every call several times.
 */
export function askEachCallOnce(approve: Approve): Approve {
  const decisions = new Map<string, ReturnType<Approve>>();
  return async (request) => {
    const key = `${request.tool} ${request.inputDigest}`;
    const known = decisions.get(key);
    if (known !== undefined) return known;
    const asked = approve(request);
    decisions.set(key, asked);
    const decision = await asked;
    // A question that was withdrawn has no answer.
    if (request.signal.aborted) decisions.delete(key);
    return decision;
  };
}
