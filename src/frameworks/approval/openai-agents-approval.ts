import { fieldOf, isFields, textOf } from "../../base/index.ts";
import type { LoopRule } from "./loop-rule.ts";

/** `needsApproval` of function tools of OpenAI Agents, by the names of tools; or one for all, which gets the name as its fourth argument. */
export type NeedsApproval = boolean | AgentsPredicate | Readonly<Record<string, boolean | AgentsPredicate>>;

type AgentsPredicate = (runContext: unknown, input: unknown, callId: string, tool: string) => unknown;

/** A tool input guardrail of OpenAI Agents, as `defineToolInputGuardrail` makes it. */
export interface InputGuardrail {
  readonly name: string;
  readonly run: (data: never) => unknown;
}

export interface AgentsRules {
  readonly needsApproval: NeedsApproval | undefined;
  readonly inputGuardrails: readonly InputGuardrail[];
}

/** The rules of OpenAI Agents about the calls of a program: they are asked as about calls of a model, guardrails first. */
export function agentsRule({ needsApproval, inputGuardrails }: AgentsRules, context: unknown) {
  let tripped: Error | undefined;
  const rule: LoopRule = async ({ callId, tool, input }) => {
    const toolCall = {
      type: "function_call",
      callId,
      name: tool,
      arguments: JSON.stringify(input),
      status: "completed",
    };
    for (const guardrail of inputGuardrails) {
      const output: unknown = await guardrail.run({ context, agent: undefined, toolCall } as never);
      const behavior = fieldOf(output, "behavior");
      const type = textOf(behavior, "type");
      if (type === "rejectContent")
        return { deny: textOf(behavior, "message") ?? `It was rejected by ${guardrail.name}.` };
      if (type === "throwException") {
        // As the SDK words it.
        const deny = `Tool input guardrail triggered: ${guardrail.name}`;
        tripped ??= new Error(deny);
        return { deny };
      }
      if (behavior !== undefined && type !== "allow") return output as never;
    }
    const own = isFields(needsApproval) ? fieldOf(needsApproval, tool) : needsApproval;
    const needs: unknown =
      typeof own === "function" ? await (own as AgentsPredicate)(context, input, callId, tool) : own;
    return needs === undefined || needs === false ? "unruled" : "ask";
  };
  return {
    rule,
    /** A guardrail that ends the run does so also if the program went on, or failed. */
    rethrow: (): void => {
      if (tripped) throw tripped;
    },
  };
}

/** Whether a person has approved a call of the loop, or denied it; undefined if neither. */
export function decidedIn(runContext: unknown, toolName: string, callId: string): boolean | undefined {
  const { isToolApproved } = (runContext ?? {}) as {
    readonly isToolApproved?: (call: object) => boolean | undefined;
  };
  return typeof isToolApproved === "function" ? isToolApproved.call(runContext, { toolName, callId }) : undefined;
}
