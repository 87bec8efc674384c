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

interface Known {
  readonly effect: Effect;
  readonly ruled: RuledCall;
}

/** Finds the earlier call that stands for a call, before anything else is decided about the call. */
export function standInsOf(parts: StandInParts) {
  const { admission, calls, earlier, share, scope, runner } = parts;

  function equal(key: string, { effect, ruled }: Known): EarlierCall | undefined {
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
  async function read(call: OpenCall, before: Effect = "read"): Promise<Known | Answer | undefined> {
    const { tool, decided } = call;
    const isHeld = mayBeHeld(call, parts);
    if (!tool.effectOf && !isHeld) return { effect: graverEffect(tool.effect, before), ruled: ALLOWED };
    decided.effectBefore = before;
    const known = await runner.withInput<Known>(call, async (input) => {
      return {
        effect: graverEffect(decided.effect, before),
        ruled: isHeld ? await ruleOn(call, input, parts) : ALLOWED,
      };
    });
    admission.giveBackInput(call);
    return known;
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
      const known = await read(call, before);
      if (!known || "ok" in known) return known;
      const { ruled } = known;
      if (calls.isGone(call) || ruled.type === "deny") return undefined;
      if (ruled.type === "none") return calls.refuse(call, policyUnavailable(call), ruled.error);
      return equal(key, known) ?? hidden(call);
    },
  };
}

export type StandIns = ReturnType<typeof standInsOf>;
