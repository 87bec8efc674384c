import type { Effect } from "../../tools/tool.ts";
import { graverEffect } from "../../tools/effect.ts";
import { ALLOWED } from "../approve/policy.ts";
import { mayBeHeld, type RuledCall, ruleOn, type Rules } from "../approve/rule-on.ts";
import type { Answer } from "../answer.ts";
import type { OpenCall } from "../open-call.ts";
import { policyUnavailable } from "../sentences.ts";
import type { CallRunner, RunnerParts } from "../run/call-runner.ts";
import type { WorkScope } from "../work-scope.ts";
import { canonicalDigest } from "../run/canonical-json.ts";
import { type EarlierCall, type EarlierCalls, keyOfCall } from "./earlier-calls.ts";

export interface StandInParts extends Omit<RunnerParts, "contextOf">, Rules {
  readonly earlier: EarlierCalls;
  readonly runner: CallRunner;
  readonly scope: WorkScope;
}

interface CallRuling {
  readonly effect: Effect;
  readonly ruled: RuledCall;
}

/** Finds the earlier call that stands for a call, before anything else is decided about the call. */
export function standInsOf(parts: StandInParts) {
  const { admission, calls, earlier, share, scope, runner } = parts;

  function equal(key: string, { effect, ruled }: CallRuling): EarlierCall | undefined {
    const found = earlier.take(key, effect);
    if (!found?.answer || ruled.type === "allow" || found.approval) return found;
    // It needed no approval then. What it has read is asked for again, and what it has done a person decides about.
    return effect === "read" ? undefined : { ...found, answer: undefined };
  }

  /** A call that may have taken effect, and whose redacted input is that of this call. */
  async function hidden(call: OpenCall): Promise<EarlierCall | undefined> {
    const { redactor } = scope;
    const { tool, inputText } = call;
    if (calls.isGone(call) || !earlier.hides(tool)) return undefined;
    if (!redactor) return earlier.takeHidden(tool, undefined);
    const { text } = await redactor.json(inputText, { to: "journal" });
    const digest = await share.lane.work(canonicalDigest(text));
    return digest === undefined || calls.isGone(call) ? undefined : earlier.takeHidden(tool, keyOfCall(tool, digest));
  }

  /** Reads the input if more than the tool decides. The call may change more, or need more, than the earlier one did. */
  async function read(call: OpenCall, before: Effect = "read"): Promise<CallRuling | Answer | undefined> {
    const { tool, ruling } = call;
    const isHeld = mayBeHeld(call, parts);
    if (!tool.effectOf && !isHeld) return { effect: graverEffect(tool.effect, before), ruled: ALLOWED };
    ruling.effectBefore = before;
    const facts = await runner.withInput<CallRuling>(call, async (input) => {
      return {
        effect: graverEffect(ruling.effect, before),
        ruled: isHeld ? await ruleOn(call, input, parts) : ALLOWED,
      };
    });
    admission.giveBackInput(call);
    return facts;
  }

  return {
    mayHave({ tool }: OpenCall): boolean {
      return earlier.knows(tool);
    },

    /** The call that stands for this one; its answer, if its input is refused; undefined if there is none, or the call has ended. */
    async find(call: OpenCall): Promise<EarlierCall | Answer | undefined> {
      const digest = await admission.canonicalInput(call);
      if (digest === undefined || calls.isGone(call)) return undefined;
      if (typeof digest === "object") return calls.refuse(call, digest);
      const key = keyOfCall(call.tool, digest);
      const before = earlier.effectOf(key);
      if (before === undefined && !earlier.hides(call.tool)) return undefined;
      const facts = await read(call, before);
      if (!facts || "ok" in facts) return facts;
      const { ruled } = facts;
      if (calls.isGone(call) || ruled.type === "deny") return undefined;
      if (ruled.type === "none") return calls.refuse(call, policyUnavailable(call), ruled.error);
      return equal(key, facts) ?? hidden(call);
    },
  };
}

export type StandIns = ReturnType<typeof standInsOf>;
