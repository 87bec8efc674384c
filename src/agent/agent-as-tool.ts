import { optionError, PortcullisError, refuseUnknownOptions } from "../errors.ts";
import type { Gate } from "../gate/gate.ts";
import { originOf } from "../gate/open-call.ts";
import type { Model } from "../models/model.ts";
import type { ExecutionRequest } from "../programs/execute.ts";
import { defineTool } from "../tools/define-tool.ts";
import { jsonSchema } from "../tools/schema.ts";
import type { CallContext, Caller, Tool } from "../tools/tool.ts";
import { ToolSet } from "../tools/tool-set.ts";
import { type AgentContext, runAgent } from "./agent.ts";
import {
  checkCount,
  checkPrograms,
  DEFAULT_TOKENS,
  DEFAULT_TURNS,
  isModel,
  MAX_TURNS,
  programsFor,
} from "./agent-options.ts";
import { agentEndingText } from "./ending.ts";
import { openingFor } from "./opening.ts";
import type { ProgramsOption } from "./transcript.ts";

/** What an agent stands on that was begun by a call: the same sandbox, journal and rules as whoever called. */
export interface AgentHost
  extends Omit<AgentContext, "above" | "opener">, Pick<ExecutionRequest, "language" | "limits" | "tenant"> {
  readonly gate: Gate;
}

export interface AgentToolOptions {
  readonly name: string;
  /** For the model that calls the agent: which tasks it takes. */
  readonly description: string;
  readonly model: Model;
  /** The tools of the agent. It has no others. */
  readonly tools: readonly Tool[];
  readonly allowedCallers: readonly Caller[];
  readonly programs?: ProgramsOption;
  /** Maximum of turns for one call; 20 by default. */
  readonly maxTurns?: number;
  /** Maximum of tokens for one call; a million by default. Also capped by the caller's remaining budget. */
  readonly maxTokens?: number;
  /** Calls at once, over all executions of a runtime; 4 by default. */
  readonly concurrency?: number;
  /** Timeout of one call, in milliseconds; ten minutes by default. */
  readonly timeoutMs?: number;
}

const OPTIONS: readonly string[] = [
  "name",
  "description",
  "model",
  "tools",
  "allowedCallers",
  "programs",
  "maxTurns",
  "maxTokens",
  "concurrency",
  "timeoutMs",
];
const CONCURRENCY = 4;
const TIMEOUT_MS = 600_000;

/**
 * Makes a tool of a model with tools of its own: the tool takes a task and returns the model's answer. Its usage also
 * counts against the caller's budget, and its calls go through the caller's gate.
 */
export function agentAsTool(options: AgentToolOptions): Tool {
  const { name, description, model, allowedCallers, maxTurns, maxTokens } = options;
  refuseUnknownOptions("agentAsTool", options, OPTIONS);
  if (!isModel(model)) throw optionError("agentAsTool({ model })", "a model", model);
  checkCount("agentAsTool({ maxTurns })", maxTurns, MAX_TURNS);
  checkCount("agentAsTool({ maxTokens })", maxTokens, Number.MAX_SAFE_INTEGER);
  checkPrograms("agentAsTool({ programs })", options.programs);
  const tools = new ToolSet(options.tools);
  const programs = programsFor(options.programs, tools);
  // An opening that the model does not support is an error of the definition, not of a call.
  openingFor(model, tools, programs, "javascript");
  const ask = async (task: string, context: CallContext) => {
    const origin = originOf(context);
    const host = origin?.opener as AgentHost | undefined;
    if (!origin || !host)
      throw new PortcullisError("option_invalid", `${name} is an agent, and can only be called in a runtime.`);
    const gate = host.gate.beside(tools, host.gate.approve);
    return runAgent(
      { ...host, gate, above: { session: origin, execution: context.execution, callId: context.callId }, opener: host },
      {
        model,
        task,
        programs,
        maxTurns: maxTurns ?? DEFAULT_TURNS,
        maxTokens: maxTokens ?? DEFAULT_TOKENS,
        language: host.language,
        limits: host.limits,
        tenant: host.tenant,
        signal: context.signal,
      },
    );
  };
  const tool = defineTool({
    name,
    description,
    input: jsonSchema<{ readonly task: string }>(INPUT),
    output: jsonSchema<string>({ type: "string" }),
    allowedCallers,
    effect: tools.all.every(({ effect }) => effect === "read") ? "read" : "write",
    // The agent itself needs no approval, but a runtime without `approve` must refuse tools that do.
    approval: tools.all.some(({ approvable }) => approvable) ? () => false : "never",
    concurrency: options.concurrency ?? CONCURRENCY,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    async handler({ task }, context) {
      const { ending } = await ask(task, context);
      if (ending.type === "answered") return ending.answer;
      // What a provider says of a key or an account is for the operator.
      const why = ending.type === "provider_failed" ? "Its model could not be reached." : agentEndingText(ending);
      throw new PortcullisError("tool_failed", `${name} has no answer. ${why}`, { cause: ending });
    },
  });
  agents.add(tool);
  return tool;
}

const agents = new WeakSet<Tool>();

export function isAgentTool(tool: Tool): boolean {
  return agents.has(tool);
}

const INPUT = {
  type: "object",
  properties: { task: { type: "string", minLength: 1, description: "what to do, with all that is needed to do it" } },
  required: ["task"],
  additionalProperties: false,
};
