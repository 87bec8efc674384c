import { createHash } from "node:crypto";
import { type ExecutionId, PortcullisError, hasCode } from "../../base/index.ts";
import { type Report, shownInput } from "../../executions/output/index.ts";
import type { Decision } from "../../executions/decide.ts";
import type { WaitingApproval } from "../../executions/outcome.ts";
import { CONTINUE_PROGRAM } from "../../tools/tool-name.ts";
import { callsText, joinRun } from "../loop-programs.ts";
import { notRun, type ProgramHost, progressOf, type RunOptions } from "../program-tool.ts";
import type { Approve } from "../../gate/approve/approval.ts";
import type { Policy, PolicyRequest } from "../../gate/approve/policy.ts";

export interface WaitingParts {
  readonly host: Pick<ProgramHost, "execute" | "resume" | "records" | "approval">;
  readonly context: unknown;
  /** Whose approvals these are, for the journal. */
  readonly by: string;
  /** What is told apart: programs of one conversation of one tenant. */
  readonly conversation: string;
}

export interface Going extends Pick<RunOptions, "signal" | "onProgress"> {
  readonly rule: LoopRule;
}

export type WaitingPrograms = ReturnType<typeof waitingPrograms>;

/**
 * Programs of a loop that asks people between two of its requests, or between two runs of a node. Such a program waits in
 * the journal, under an id that follows from the call that began it: the same call again finds the same program.
 */
export function waitingPrograms({ host, context, by, conversation }: WaitingParts) {
  const ruleBy = `${by}, by its rule`;
  const prefix = `loop_${digest(conversation).slice(0, 16)}_`;
  const optionsOf = (id: ExecutionId, { rule, signal, onProgress }: Going) => ({
    ...gateRuleOf(rule, ruleBy),
    context,
    signal: signal ?? undefined,
    onEvent: progressOf(id, onProgress),
  });
  /** Goes on with a program after these decisions, until it ends or waits. Without decisions it only tells what it has come to. */
  const goOn = (id: ExecutionId, going: Going, decisions?: Readonly<Record<string, Decision>>): Promise<Report> =>
    joinRun(() => host.resume(id, { ...optionsOf(id, going), decisions }), going.signal).catch((error: unknown) => {
      const isLate = PortcullisError.is(error) && (error.code === "decision_exists" || error.code === "call_unknown");
      // Another person has decided one of these calls at the same time: what was decided first holds.
      return decisions && isLate ? goOn(id, going) : unlessUnknown(error);
    });
  /** Goes on once these calls are decided. */
  const decide = (id: ExecutionId, going: Going, waits: readonly WaitingApproval[], decision: Decision) => {
    const decisions = waits.map(({ callId, hold }) => [callId, { by, hold, ...decision }]);
    return goOn(id, going, Object.fromEntries(decisions) as Readonly<Record<string, Decision>>);
  };
  return {
    by,
    /** Who decides calls that the loop's own rule approves by itself. */
    ruleBy,
    /** The id of the program that a call of the loop began. `nth`: of its calls with this id and code. `isShown`: people are asked about it. */
    idOf: (callId: string, code: string, nth = 0, isShown = true): ExecutionId =>
      `${prefix}${digest(JSON.stringify([callId, code, nth, isShown])).slice(0, 32)}`,
    /** Whether a program of this conversation has the id. A model may name any. */
    has: (id: string) => id.startsWith(prefix),
    /** Runs a program until it ends or waits. If it was run before, gives what it has come to. */
    run: (id: ExecutionId, code: string, going: Going) =>
      joinRun(() => host.execute(code, { id, ...optionsOf(id, going) }), going.signal).catch(unlessUnknown),
    goOn,
    decide,
    /** Ends a program whose call was denied: its calls that wait are denied, and it goes no further. */
    async deny(id: ExecutionId, note: string | undefined): Promise<void> {
      const rule = () => "ask" as const;
      const { outcome } = await goOn(id, { rule });
      const signal = AbortSignal.abort(new Error("The program was denied."));
      if (outcome.type === "waiting") await decide(id, { rule, signal }, outcome.approvals, { allow: false, note });
    },
    records: (id: ExecutionId) => host.records(id).catch(unlessUnknown),
    approval: (id: ExecutionId, callId: string) => host.approval(id, callId).catch(unlessUnknown),
  };
}

/** The host could not do it, unless there is no such program. */
function unlessUnknown(error: unknown): never {
  if (hasCode(error, "execution_unknown")) throw error;
  return notRun(error);
}

/** Bytes of an input that is shown whole: a person sees nothing else of it. What is longer says that its middle is left out. */
const ASKED_BYTES = 64 * 1024;

/** The calls that a program waits for, as one text for a person: each with its input. */
export function questionText(approvals: readonly WaitingApproval[]): string {
  const calls = approvals.map(({ tool, why, ...inputs }, index) => {
    const again = why === "outcome_unknown" ? ", which may have been done already" : "";
    return `${index + 1}. ${tool}${again}, with this input:\n${shownInput(inputs, ASKED_BYTES).text}`;
  });
  return `A program asks to make ${approvals.length === 1 ? "one call" : `${approvals.length} calls`}:\n${calls.join("\n")}`;
}

/** What the calls are that a program waits for: the same calls have the same mark. */
export function waveOf(approvals: readonly WaitingApproval[]): string {
  const calls = approvals.map(({ callId, inputDigest, hold }) => [callId, inputDigest, hold]);
  return digest(JSON.stringify(calls)).slice(0, 12);
}

/** For the model: its program waits, and how it goes on. */
export function waitsText(id: ExecutionId, approvals: readonly WaitingApproval[]): string {
  const handle = JSON.stringify({ program: `${id}.${waveOf(approvals)}` });
  return `The program waits for a person to approve ${callsText(approvals)}. Nothing is lost. Call ${CONTINUE_PROGRAM} with ${handle}: it returns when the program has ended, or waits again.`;
}

/** A call that the program waits for must have a client's result, which no approval gives. */
export const WAITS_FOR_CLIENT =
  "The program waits for the result of a client, which this loop cannot give. It continues when the host has it.";

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** What a loop's own rule says: nothing, that it is approved, that a person decides, or that it is denied. */
export type LoopVerdict = "unruled" | "approved" | "ask" | { readonly deny: string };

/** Asked about a call that a program makes. */
export type LoopRule = (call: Pick<PolicyRequest, "callId" | "tool" | "input">) => Promise<LoopVerdict> | LoopVerdict;

/**
 * The rule of a loop, as the gate takes rules: it is one more policy, so it never loosens a rule of the tool or of the
 * runtime. Calls that it approves by itself are approved in its name if another rule holds them, and the others wait for
 * a person. What the rule throws, or says wrongly, denies the call, as from any policy.
 */
function gateRuleOf(rule: LoopRule, by: string): { readonly policy: Policy; readonly approve: Approve } {
  const approved = new Set<string>();
  return {
    policy: async ({ execution, callId, tool, input }) => {
      const verdict = await rule({ callId, tool, input });
      if (verdict === "approved") approved.add(`${execution}/${callId}`);
      return verdict === "approved" || verdict === "unruled" ? "allow" : verdict;
    },
    approve: ({ execution, callId }) => (approved.has(`${execution}/${callId}`) ? { allow: true, by } : "later"),
  };
}
