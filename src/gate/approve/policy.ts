import { after, describe, isAnyObject, PortcullisError } from "../../base/index.ts";
import type { Caller, Effect } from "../../tools/tool.ts";
import { NOTE_LENGTH } from "./approval.ts";

/** A call that a policy is asked about. */
export interface PolicyRequest<Context = unknown> {
  readonly execution: string;
  readonly callId: string;
  readonly tool: string;
  /** Name of the source that the tool comes from, like an MCP server; undefined for the host's own. */
  readonly source: string | undefined;
  /** What the call changes: the tool's `effect`, or what its function says of the input. */
  readonly effect: Effect;
  readonly caller: Caller;
  /** A copy of the input that the handler is given, as JSON has it: dates are texts. */
  readonly input: unknown;
  /** The input as the caller sent it, if the tool's schema has made another one of it. */
  readonly rawInput?: unknown;
  /** The `context` of the execution, conversation or call; undefined if none was given. */
  readonly context: Context;
  readonly tenant: string;
  /** Aborted when the answer is no longer needed: the call has ended, or the policy took too long. */
  readonly signal: AbortSignal;
}

/** `"allow"`: nothing more than the tool's own rules. `"ask"`: the call needs approval. `{ deny }`: it is refused, and its caller reads the reason. */
export type PolicyAnswer = "allow" | "ask" | { readonly deny: string };

/**
 * Rules for all calls of a runtime, besides those of each tool, which it cannot loosen. If it fails, answers anything else or
 * takes longer than 5 seconds, the call is refused as `policy_unavailable`.
 */
export type Policy<Context = unknown> = (request: PolicyRequest<Context>) => PolicyAnswer | Promise<PolicyAnswer>;

/** `ask-writes`: calls with the effect `write` need approval. `ask-changes`: those that change anything. `ask-all`: all. */
export type PolicyName = "ask-writes" | "ask-changes" | "ask-all";

const PRESETS: Readonly<Record<PolicyName, (effect: Effect) => boolean>> = {
  "ask-writes": (effect) => effect === "write",
  "ask-changes": (effect) => effect !== "read",
  "ask-all": () => true,
};

export const POLICY_NAMES = Object.keys(PRESETS) as readonly PolicyName[];

/** How long a policy may take for one call, in milliseconds. People decide after `"ask"`, which has no such limit. */
const POLICY_MS = 5000;

/** What came of asking. `reason` is for the journal, and of a refusal for the caller. */
export type PolicyVerdict =
  | { readonly type: "allow"; readonly reason?: undefined }
  | { readonly type: "ask" | "deny"; readonly reason: string }
  /** There was no answer, and `error`, for the operator, says why. */
  | { readonly type: "none"; readonly reason?: undefined; readonly error: unknown };

export const ALLOWED: PolicyVerdict = { type: "allow" };

/** Asks a policy about a call. Never rejects. */
export async function askPolicy(
  policy: Policy | PolicyName,
  request: Omit<PolicyRequest, "input" | "rawInput">,
  readInput: () => Pick<PolicyRequest, "input" | "rawInput">,
): Promise<PolicyVerdict> {
  if (typeof policy === "string")
    return PRESETS[policy](request.effect) ? { type: "ask", reason: `The policy is ${policy}.` } : ALLOWED;
  const { tool } = request;
  const late = Promise.withResolvers<typeof LATE>();
  const end = new AbortController();
  using _ = after(POLICY_MS, () => late.resolve(LATE));
  try {
    const signal = AbortSignal.any([request.signal, end.signal]);
    const asked = policy({ ...request, signal, ...readInput() });
    return readAnswer(tool, await Promise.race([asked, late.promise]));
  } catch (error) {
    return { type: "none", error };
  } finally {
    end.abort();
  }
}

const LATE = Symbol("late");

function readAnswer(tool: string, answer: unknown): PolicyVerdict {
  if (answer === "allow") return ALLOWED;
  if (answer === "ask") return { type: "ask", reason: "The policy asks." };
  const none = (why: string) => {
    return {
      type: "none",
      error: new PortcullisError("callback_failed", `\`policy\` gave no answer about ${tool}${why}`),
    } as const;
  };
  if (answer === LATE)
    return none(` within ${POLICY_MS} ms, so the call was refused. For a decision that takes longer, answer "ask".`);
  const deny = isAnyObject(answer) && Object.hasOwn(answer, "deny") && "deny" in answer;
  const reason = deny ? answer.deny : undefined;
  if (typeof reason === "string") return { type: "deny", reason: reason.slice(0, NOTE_LENGTH) };
  return none(`, so the call was refused: expected "allow", "ask" or { deny: "reason" }, got ${describe(answer)}.`);
}
