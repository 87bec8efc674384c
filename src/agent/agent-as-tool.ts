import { PortcullisError } from "../errors.ts";
import { HandlerContext } from "../gate/run/handler-context.ts";
import { type OptionsOf, readOptions, required, wholeNumber, words } from "../option-rules/options.ts";
import { ALLOWED_CALLERS, defineTool, TIMEOUT_MS } from "../tools/define-tool.ts";
import { jsonSchema } from "../tools/schema.ts";
import type { CallContext, Tool } from "../tools/tool.ts";
import { TOOLS, ToolSet } from "../tools/tool-set.ts";
import type { AgentReport } from "./agent-report.ts";
import { checkOpening, programsFor, ROLES } from "./prompt/programs-option.ts";
import { childExecution } from "./calls/child-execution.ts";
import { INSTRUCTION_RULES, MAX_TOKENS, MAX_TURNS, MODEL, PROGRAMS, withModels } from "./agent-options.ts";
import { isAgentScope } from "./agent-scope.ts";
import { ownInstructions } from "./prompt/instructions.ts";
import { chosenSettings, CONVERSATION_SETTINGS, refuseUnmatched } from "./conversation-settings.ts";

const SUBJECT = "agentAsTool";

export const AGENT_TOOL_RULES = {
  /** Reached by programs as `tools.` and this: identifiers with dots between, like `research.ask`. */
  name: required(words("a name")),
  /** For the model that calls the agent: which tasks it takes. */
  description: required(words()),
  /** The model of the agent. */
  model: MODEL,
  /** The tools of the agent. It has no others. */
  tools: required(TOOLS),
  /** Which callers may call it. There is no default. */
  allowedCallers: ALLOWED_CALLERS,
  ...INSTRUCTION_RULES,
  ...CONVERSATION_SETTINGS,
  /** Where programs run: `local` by default if a tool allows programs as callers, else `none`. */
  programs: PROGRAMS,
  /** Maximum of turns for one call; 20 by default. */
  maxTurns: MAX_TURNS,
  /** Maximum of tokens for one call; a million by default. Also capped by the caller's remaining budget. */
  maxTokens: MAX_TOKENS,
  /** Calls at once, over all executions of a runtime; 4 by default. */
  concurrency: wholeNumber({ min: 1, default: 4 }),
  /** Timeout of one call, in milliseconds; ten minutes by default. */
  timeoutMs: wholeNumber({ ...TIMEOUT_MS, default: 600_000 }),
};

export type AgentToolOptions<Context = unknown> = Omit<OptionsOf<typeof AGENT_TOOL_RULES>, "tools"> & {
  /** The tools of the agent. It has no others. */
  readonly tools: readonly Tool<Context>[];
};

/**
 * Makes a tool of a model with tools of its own: the tool takes a task and returns the model's answer. Its usage also
 * counts against the caller's budget, and its calls go through the caller's gate. Throws `option_invalid` for a wrong
 * option and for what the model does not support, `tool_invalid` for an invalid name.
 */
export function agentAsTool<Context = unknown>(options: AgentToolOptions<Context>): Tool<Context> {
  const read = readOptions(SUBJECT, options, AGENT_TOOL_RULES);
  const { name, description, allowedCallers, maxTurns, maxTokens, concurrency, timeoutMs } = read;
  const { model } = withModels(read);
  const tools = new ToolSet(read.tools, `${SUBJECT}({ tools })`);
  const programs = programsFor(read.programs, tools);
  // An opening that the model does not support is an error of the definition, not of a call.
  checkOpening(model, tools, programs, SUBJECT);
  const instructions = ownInstructions(read, model.name, tools.visibleTo(ROLES[programs].visibleTo));
  const settings = chosenSettings(read);
  refuseUnmatched(settings, [model.name], SUBJECT);
  const about = { programs, instructions, settings };
  const ask = async (task: string, context: CallContext): Promise<AgentReport> => {
    const origin = HandlerContext.originOf(context);
    if (!origin || !isAgentScope(origin.scope))
      throw new PortcullisError("option_invalid", `${name} is an agent, and can only be called in a runtime.`);
    const { scope } = origin;
    const above = { session: origin, execution: context.execution, callId: context.callId };
    const { tenant, context: given } = scope;
    const gate = scope.gate.beside(tools).for({ tenant, context: given, model: model.name }, scope.onSwitchFailed);
    const inner = { ...scope, gate, above, signal: context.signal };
    const { execution, callId } = context;
    const { runAgent } = await import("./resume-agent.ts");
    return runAgent(inner, { model, ...about, maxTurns, maxTokens }, task, childExecution(execution, callId));
  };
  const tool = defineTool({
    name,
    description,
    input: jsonSchema<{ readonly task: string }>(INPUT),
    output: jsonSchema<string>({ type: "string" }),
    allowedCallers,
    effect: tools.all.every(({ effect }) => effect === "read") ? "read" : "write",
    // Its conversation has a journal of its own, from which it goes on if its host died.
    onUnknown: "retry",
    concurrency,
    timeoutMs,
    async handler({ task }, context) {
      const { ending } = await ask(task, context);
      if (ending.type === "answered") return ending.answer;
      const { agentEndingText, clientEnding } = await import("./ending-text.ts");
      const why = agentEndingText(clientEnding(ending));
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
