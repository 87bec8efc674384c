import {
  object,
  option,
  type OptionsOf,
  pick,
  PortcullisError,
  readOptions,
  required,
  type CheckedOptions,
  wholeNumber,
  words,
  optionError,
} from "../../base/index.ts";
import { HandlerContext } from "../../gate/run/handler-context.ts";
import type { Model } from "../../models/model.ts";
import type { ModelName } from "../../models/model-name.ts";
import { RESULT, resultSchemaOf } from "../../executions/drive/ending/result-schema.ts";
import { defineTool, runsAt } from "../../tools/define-tool.ts";
import { ALLOWED_CALLERS, type CallContext, TIMEOUT_MS, type Tool, CALLERS } from "../../tools/tool.ts";
import { jsonSchema, issuesText, type Schema, validate } from "../../tools/schema.ts";
import { TOOLS, ToolSet } from "../../tools/tool-set.ts";
import type { AgentReport, AgentRequest } from "../agent-report.ts";
import { CONVERSATION_RULES, LOOP_RULES, MODEL, readGroups, requestOf, withModels } from "../agent-options.ts";
import { isAgentScope } from "../agent-scope.ts";
import { childExecution } from "../calls/child-execution.ts";
import { answeredValue } from "../prompt/answer-schema.ts";
import { checkOpening, programsFor } from "../prompt/programs-option.ts";

const SUBJECT = "agentAsTool";
/** In place of a model: the one that answers in the conversation that calls. */
export const INHERIT = "inherit";

const AGENT_LOOP_RULES = pick(LOOP_RULES, "maxTurns", "maxTokens", "stopWhen");

export const AGENT_TOOL_RULES = {
  /** Reached by programs as `tools.` and this: identifiers with dots between, like `research.ask`. */
  name: required(words("a name")),
  /** For the model that calls the agent: which tasks it takes. */
  description: required(words()),
  /** The model of the agent; `"inherit"` is the model that answers in the conversation that calls it. */
  model: required(
    option<Model | ModelName | typeof INHERIT>(
      `${MODEL.expected}, or "${INHERIT}"`,
      (value) => value === INHERIT || MODEL.accepts(value),
    ),
  ),
  /** The tools of the agent. It has no others. */
  tools: required(TOOLS),
  /** Which callers may call it. There is no default. */
  allowedCallers: ALLOWED_CALLERS,
  ...pick(CONVERSATION_RULES, "instructions", "documents", "settings", "fallbacks", "programs"),
  /** Schema of the answer, like `z.object({ … })`: the agent answers in JSON, and the result of the call is the value. */
  answer: RESULT,
  /** How the turns of one call go on and end, also within what the caller has left: `{ maxTurns, maxTokens, stopWhen }`. */
  loop: object<OptionsOf<typeof AGENT_LOOP_RULES>>(),
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
  const { name, description, allowedCallers, concurrency, timeoutMs, answer } = read;
  const tools = new ToolSet(read.tools, `${SUBJECT}({ tools })`);
  resultSchemaOf(answer, `${SUBJECT}({ answer })`);
  const requestWith = requestMaker(read, tools);
  const ask = async (task: string, context: CallContext): Promise<AgentReport> => {
    const origin = HandlerContext.originOf(context);
    if (!origin || !isAgentScope(origin.scope))
      throw new PortcullisError("option_invalid", `${name} is an agent, and can only be called in a runtime.`);
    const { scope } = origin;
    const request = requestWith(scope.answering?.());
    const above = { session: origin, execution: context.execution, callId: context.callId };
    const { tenant, context: hostContext } = scope;
    const gate = scope.gate
      .withTools(tools)
      .for({ tenant, context: hostContext, model: request.model.name }, scope.onSwitchFailed);
    const inner = { ...scope, gate, hostTools: undefined, above, signal: context.signal };
    const { execution, callId } = context;
    const { runAgent } = await import("../resume-agent.ts");
    return runAgent(inner, request, task, childExecution(execution, callId));
  };
  const tool = defineTool({
    name,
    description,
    inputSchema: jsonSchema<{ readonly task: string }>(INPUT),
    outputSchema: answer ?? TEXT,
    allowedCallers,
    effect: tools.all.every(({ effect }) => effect === "read") ? "read" : "write",
    // Its conversation has a journal of its own, from which it goes on if its host died.
    onUnknown: "retry",
    concurrency,
    timeoutMs,
    async execute({ task }, context) {
      const { ending } = await ask(task, context);
      // The gate checks the value against the schema of the tool's output, which is that of the answer.
      if (ending.type === "answered") return answer ? answeredValue(ending.answer) : ending.answer;
      const { agentEndingText, clientEnding } = await import("../ending-text.ts");
      const why = agentEndingText(clientEnding(ending));
      throw new PortcullisError("tool_failed", `${name} has no answer. ${why}`, { cause: ending });
    },
  });
  return runsAt(AGENT, tool);
}

/**
 * What an agent asks a model for, by the model of its caller. An opening that a model of the definition does not support
 * is an error of the definition; the model of a caller is known with the call.
 */
function requestMaker(
  { name, model, settings, loop, ...read }: CheckedOptions<typeof AGENT_TOOL_RULES>,
  tools: ToolSet,
): (caller: Model | undefined) => AgentRequest {
  const settled = { ...read, ...readGroups(SUBJECT, { settings, loop }, AGENT_LOOP_RULES) };
  const requestOfModel = (one: Model | ModelName) => {
    const options = withModels({ ...settled, model: one });
    checkOpening(options.model, tools, programsFor(read.programs, tools), SUBJECT);
    return requestOf(options, tools, SUBJECT);
  };
  if (model !== INHERIT) {
    const request = requestOfModel(model);
    return () => request;
  }
  return (caller) => {
    if (caller) return requestOfModel(caller);
    throw new PortcullisError(
      "tool_failed",
      `${name} works with the model of the conversation that calls it, and no conversation does.`,
    );
  };
}

const TEXT = jsonSchema<string>({ type: "string" });

const AGENT = "agent";

export function isAgentTool({ place }: Tool): boolean {
  return place === AGENT;
}

const TASK = { type: "string", minLength: 1, description: "what to do, with all that is needed to do it" };

const INPUT = {
  type: "object",
  properties: { task: TASK },
  required: ["task"],
  additionalProperties: false,
};

interface TaskInput {
  readonly agent: string;
  readonly task: string;
  readonly context?: string;
}

/**
 * One tool, `task`, for several agents: a call names the agent, and gives it a task. Those may call it who may call each of
 * the agents; as many calls run at once as each of them allows, and a call may take as long as with the slowest. Throws
 * `option_invalid` for tools that are no agents, and if no caller may call all of them; `tools_conflict` for two agents of
 * one name.
 */
export function taskTool<Context = unknown>(agents: readonly Tool<Context>[]): Tool<Context> {
  const agentSet = agentsOf(agents);
  const { all } = agentSet;
  const allowedCallers = CALLERS.filter((caller) => all.every((agent) => agent.allowedCallers.includes(caller)));
  if (allowedCallers.length === 0)
    throw new PortcullisError(
      "option_invalid",
      "taskTool(agents): no caller may call all of these agents. Give them allowedCallers that they share.",
    );
  const answer: Schema | undefined = all.every(({ outputSchema }) => outputSchema === TEXT) ? TEXT : undefined;
  const tool = defineTool({
    name: "task",
    description: descriptionOf(all),
    inputSchema: jsonSchema<TaskInput>(inputOf(all)),
    outputSchema: answer,
    allowedCallers,
    effect: all.every(({ effect }) => effect === "read")
      ? "read"
      : (input) => agentSet.get(input.agent)?.effect ?? "write",
    onUnknown: "retry",
    concurrency: Math.min(...all.map((agent) => agent.concurrency)),
    timeoutMs: Math.max(...all.map((agent) => agent.timeoutMs)),
    async execute({ agent, task, context: more }, context) {
      const chosen = agentSet.get(agent);
      if (!chosen || chosen.execute === "client")
        throw new PortcullisError("tool_failed", `There is no agent ${agent}.`);
      const whole = more === undefined ? task : `${task}\n\n${more}`;
      return valueOf(chosen, await chosen.execute({ task: whole }, context));
    },
  });
  return runsAt(AGENT, tool);
}

function agentsOf(agents: unknown): ToolSet {
  const expected = "agents made by agentAsTool or loadAgents, at least one";
  if (!Array.isArray(agents) || agents.length === 0) throw optionError("taskTool(agents)", expected, agents);
  const other = agents.findIndex((agent: Tool) => !isAgentTool(agent));
  if (other >= 0)
    throw optionError(`taskTool(agents[${other}])`, "an agent made by agentAsTool or loadAgents", agents[other]);
  return new ToolSet(agents as readonly Tool[], "taskTool(agents)");
}

/** The value of an agent's answer. Nothing else checks it against the agent's own schema. */
async function valueOf({ name, outputSchema: output }: Tool, answer: unknown): Promise<unknown> {
  const validated = output ? await validate(output, answer) : { ok: true as const, value: answer };
  if (validated.ok) return validated.value;
  throw new PortcullisError("tool_failed", `${name}: the answer does not fit: ${issuesText(validated.issues)}.`);
}

function descriptionOf(agents: readonly Tool[]): string {
  const lines = agents.map(({ name, description }) => `- ${name}: ${description}`);
  return [
    "Gives a task to an agent, which works on it with tools of its own and answers once. The agents are:",
    ...lines,
  ].join("\n");
}

function inputOf(agents: readonly Tool[]) {
  return {
    type: "object",
    properties: {
      agent: { type: "string", enum: agents.map(({ name }) => name) },
      task: TASK,
      context: { type: "string", description: "text that belongs to the task, like a result of another call" },
    },
    required: ["agent", "task"],
    additionalProperties: false,
  };
}
