import { PortcullisError } from "../errors.ts";
import { originOf } from "../gate/open-call.ts";
import { type OptionsOf, readOptions, required, wholeNumber, words } from "../options/options.ts";
import { ALLOWED_CALLERS, defineTool, TIMEOUT_MS } from "../tools/define-tool.ts";
import { jsonSchema } from "../tools/schema.ts";
import type { CallContext, Tool } from "../tools/tool.ts";
import { TOOLS, ToolSet } from "../tools/tool-set.ts";
import { type AgentReport, runAgent } from "./agent.ts";
import { MAX_TOKENS, MAX_TURNS, MODEL, PROGRAMS, programsFor } from "./agent-options.ts";
import { AgentScope } from "./agent-scope.ts";
import { agentEndingText } from "./ending.ts";
import { openingFor } from "./opening.ts";

const SUBJECT = "agentAsTool";

const AGENT_TOOL_RULES = {
  /** Reached by programs as `tools.` and this: identifiers with dots between, like `research.ask`. */
  name: required(words("a name")),
  /** For the model that calls it: what it can be asked. */
  description: required(words()),
  /** The model that is asked. */
  model: MODEL,
  /** Its tools, and no others. */
  tools: required(TOOLS),
  /** Which callers may call it. There is no default. */
  allowedCallers: ALLOWED_CALLERS,
  /** Where its programs run: here by default, where a tool may be called by programs; else nowhere. */
  programs: PROGRAMS,
  /** Turns that one call may take; 20 by default. */
  maxTurns: MAX_TURNS,
  /** Tokens that one call may take; a million by default, and never more than its caller has left. */
  maxTokens: MAX_TOKENS,
  /** Calls at once, over all executions of a runtime; 4 by default. */
  concurrency: wholeNumber({ min: 1, default: 4 }),
  /** Time that one call may take, in milliseconds; ten minutes by default. */
  timeoutMs: wholeNumber({ ...TIMEOUT_MS, default: 600_000 }),
};

export type AgentToolOptions = OptionsOf<typeof AGENT_TOOL_RULES>;

/**
 * A model with tools of its own as a tool: it is given a task and returns its answer. What it uses counts against its
 * caller's budget too, and its calls stop at the same gate, as direct calls and calls of programs. Throws
 * `option_invalid` for a wrong option and for what the model cannot be asked, `tool_invalid` for a name that no tool
 * can have.
 */
export function agentAsTool(options: AgentToolOptions): Tool {
  const read = readOptions(SUBJECT, options, AGENT_TOOL_RULES);
  const { name, description, model, allowedCallers, maxTurns, maxTokens, concurrency, timeoutMs } = read;
  const tools = new ToolSet(read.tools, `${SUBJECT}({ tools })`);
  const programs = programsFor(read.programs, tools);
  // What its model cannot be asked is an error of the definition, not of a call.
  openingFor(model, tools, programs, "javascript", SUBJECT);
  const ask = async (task: string, context: CallContext): Promise<AgentReport> => {
    const origin = originOf(context);
    if (!origin || !(origin.scope instanceof AgentScope))
      throw new PortcullisError("option_invalid", `${name} is an agent, and can only be called in a runtime.`);
    const { scope } = origin;
    const above = { session: origin, execution: context.execution, callId: context.callId };
    const gate = scope.gate.beside(tools, scope.gate.approve);
    const inner = scope.with({ gate, above, signal: context.signal });
    return runAgent(inner, { model, task, programs, maxTurns, maxTokens });
  };
  const tool = defineTool({
    name,
    description,
    input: jsonSchema<{ readonly task: string }>(INPUT),
    output: jsonSchema<string>({ type: "string" }),
    allowedCallers,
    effect: tools.all.every(({ effect }) => effect === "read") ? "read" : "write",
    // A call of it needs no approval, but a runtime without approve could not decide about calls of its tools.
    approval: tools.all.some(({ approvable }) => approvable) ? () => false : "never",
    concurrency,
    timeoutMs,
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
