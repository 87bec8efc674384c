import { inputOf } from "../models/turn/index.ts";
import { CONTINUE_TOOL, type LoopCall, type PausingTools } from "./approval/pausing-tools.ts";
import { isFailure, type LoopTool, type WritableSchema } from "./program-tool.ts";
import { fieldOf, isFields, textOf } from "../base/index.ts";
import type { LoopRule } from "./approval/waiting-programs.ts";

/** A function tool of OpenAI Agents, as `tool()` makes it. */
export interface AgentsTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly parameters: WritableSchema;
  readonly strict: boolean;
  /**
   * `input` is the JSON text of the arguments. Resolves with the text for the model, also if the program failed: results
   * of this loop have no mark of failure, and a rejection would end the run.
   */
  readonly invoke: (runContext: unknown, input: string, details?: AgentsCallDetails) => Promise<string>;
  readonly needsApproval: (runContext?: unknown, input?: unknown, callId?: string) => Promise<boolean>;
  readonly isEnabled: () => Promise<boolean>;
  /**
   * With `needsApproval` or `inputGuardrails`: what a person is asked whose approval an interruption waits for. `input` is
   * that of the interruption, as a value. Undefined if no person has to be asked.
   */
  readonly question?: (runContext: unknown, input: unknown, callId: string) => Promise<string | undefined>;
}

interface AgentsCallDetails {
  readonly signal?: AbortSignal | undefined;
  readonly toolCall?: { readonly callId?: string | undefined } | undefined;
}

export function agentsTool(tool: LoopTool): AgentsTool {
  return Object.assign(declared(tool), {
    invoke: (_: unknown, input: string, details?: AgentsCallDetails) =>
      catchFailure(() => tool.run(inputOf(input), { signal: details?.signal })),
    // Approval is asked for the calls that a program makes, while it runs.
    needsApproval: () => Promise.resolve(false),
  });
}

function declared(tool: Pick<LoopTool, "name" | "description" | "schema" | "isStrict">) {
  return {
    type: "function",
    name: tool.name,
    // It grows by what results were like.
    get description() {
      return tool.description;
    },
    parameters: tool.schema,
    strict: tool.isStrict,
    isEnabled: () => Promise.resolve(true),
  } as const;
}

async function catchFailure(run: () => Promise<string>): Promise<string> {
  try {
    return await run();
  } catch (error) {
    if (isFailure(error)) return error.message;
    throw error;
  }
}

/** `run_program` and `continue_program`, whose calls a person approves by interruptions of the run. */
export function agentsPausingTools(program: LoopTool, pausing: PausingTools, rules: AgentsRules) {
  /** Calls of the loop that were asked about and not run since: the run does not tell a tool that its call was denied. */
  const asked = new Map<string, LoopCall>();
  /** Ids of calls that a run has invoked: of a further one with the same id nobody was asked, though the run says so. */
  const invoked = new WeakMap<object, Set<string>>();
  const toolOf = (about: Pick<LoopTool, "name" | "description" | "schema" | "isStrict">): AgentsTool => {
    const { name } = about;
    const callOf = (callId: string, input: unknown, decision?: boolean): LoopCall => ({
      name,
      callId,
      input,
      answered: 0,
      isAsked: decision !== undefined,
    });
    const question = async (runContext: unknown, input: unknown, callId: string) => {
      for (const [id, call] of asked)
        if (decidedIn(runContext, call.name, id) === false) {
          asked.delete(id);
          await pausing.deny(call, undefined);
        }
      const call = callOf(callId, input, decidedIn(runContext, name, callId));
      const { rule, rethrow } = agentsRule(rules, runContext);
      const asks = await pausing.question(call, { rule });
      rethrow();
      if (asks !== undefined) asked.set(callId, call);
      return asks;
    };
    return Object.assign(declared(about), {
      question,
      needsApproval: async (runContext: unknown, input: unknown, callId = "") =>
        (await question(runContext, input, callId)) !== undefined,
      invoke: (runContext: unknown, input: string, details?: AgentsCallDetails) =>
        catchFailure(async () => {
          const callId = details?.toolCall?.callId ?? "";
          asked.delete(callId);
          const { rule, rethrow } = agentsRule(rules, runContext);
          const decision = isFirst(invoked, runContext, callId) ? decidedIn(runContext, name, callId) : undefined;
          const call = callOf(callId, inputOf(input), decision);
          try {
            return await pausing.run(call, { rule, signal: details?.signal }, decision === true);
          } finally {
            rethrow();
          }
        }),
    });
  };
  return {
    run_program: toolOf(program),
    [CONTINUE_TOOL.name]: toolOf(CONTINUE_TOOL),
  };
}

/** Notes a call of a run. False if the run has made one with this id. */
function isFirst(invoked: WeakMap<object, Set<string>>, run: unknown, callId: string): boolean {
  if (typeof run !== "object" || run === null) return true;
  const ids = invoked.get(run) ?? new Set();
  invoked.set(run, ids);
  return !ids.has(callId) && Boolean(ids.add(callId));
}

/** `needsApproval` of function tools of OpenAI Agents, by the names of tools; or one for all, which gets the name as its fourth argument. */
export type NeedsApproval = boolean | AgentsPredicate | Readonly<Record<string, boolean | AgentsPredicate>>;

type AgentsPredicate = (runContext: unknown, input: unknown, callId: string, tool: string) => unknown;

/** A tool input guardrail of OpenAI Agents, as `defineToolInputGuardrail` makes it. */
export interface InputGuardrail {
  readonly name: string;
  readonly run: (data: never) => unknown;
}

interface AgentsRules {
  readonly needsApproval: NeedsApproval | undefined;
  readonly inputGuardrails: readonly InputGuardrail[];
}

/** The rules of OpenAI Agents about the calls of a program: they are asked as about calls of a model, guardrails first. */
function agentsRule({ needsApproval, inputGuardrails }: AgentsRules, context: unknown) {
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
function decidedIn(runContext: unknown, toolName: string, callId: string): boolean | undefined {
  const { isToolApproved } = (runContext ?? {}) as {
    readonly isToolApproved?: (call: object) => boolean | undefined;
  };
  return typeof isToolApproved === "function" ? isToolApproved.call(runContext, { toolName, callId }) : undefined;
}
