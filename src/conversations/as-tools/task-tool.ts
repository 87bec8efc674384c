import { optionError, type OptionsOf, PortcullisError, readOptions, wholeNumber, words } from "../../base/index.ts";
import { defineTool, runsAt } from "../../tools/define-tool.ts";
import { ALLOWED_CALLERS, CALLERS, TIMEOUT_MS, type Tool } from "../../tools/tool.ts";
import { issuesText, jsonSchema, type Schema, validate } from "../../tools/schema.ts";
import { ToolSet } from "../../tools/tool-set.ts";
import { AGENT, isAgentTool, TEXT } from "./agent-as-tool.ts";

const SUBJECT = "taskTool";

export const TASK_TOOL_RULES = {
  /** Name of the tool; `task` by default. */
  name: words("a name"),
  /** Which callers may call it: by default those that may call each of the agents. */
  allowedCallers: { ...ALLOWED_CALLERS, presence: "optional" as const },
  /** Calls at once, over all executions of a runtime; by default the smallest number that one of the agents allows. */
  concurrency: wholeNumber({ min: 1 }),
  /** Timeout of one call, in milliseconds; by default the longest of the agents. */
  timeoutMs: wholeNumber(TIMEOUT_MS),
};

export type TaskToolOptions = OptionsOf<typeof TASK_TOOL_RULES>;

interface TaskInput {
  readonly agent: string;
  readonly task: string;
  readonly context?: string;
}

/**
 * One tool for several agents: a call names the agent, and gives it a task. Throws `option_invalid` for a wrong option,
 * for tools that are no agents, and if no caller may call all of them; `tools_conflict` for two agents of one name.
 */
export function taskTool<Context = unknown>(
  agents: readonly Tool<Context>[],
  options: TaskToolOptions = {},
): Tool<Context> {
  const read = readOptions(SUBJECT, options, TASK_TOOL_RULES);
  const known = agentsOf(agents);
  const { all } = known;
  const {
    name = "task",
    allowedCallers = CALLERS.filter((caller) => all.every((agent) => agent.allowedCallers.includes(caller))),
    concurrency = Math.min(...all.map((agent) => agent.concurrency)),
    timeoutMs = Math.max(...all.map((agent) => agent.timeoutMs)),
  } = read;
  if (allowedCallers.length === 0)
    throw new PortcullisError(
      "option_invalid",
      `${SUBJECT}(agents): no caller may call all of these agents. Say who may call the tool: ${SUBJECT}(agents, { allowedCallers }).`,
    );
  const output: Schema = TEXT;
  const tool = defineTool({
    name,
    description: descriptionOf(all),
    inputSchema: jsonSchema<TaskInput>(inputOf(all)),
    ...(all.every((agent) => agent.outputSchema === TEXT) ? { outputSchema: output } : {}),
    allowedCallers,
    effect: all.every(({ effect }) => effect === "read")
      ? "read"
      : (input) => known.get(input.agent)?.effect ?? "write",
    onUnknown: "retry",
    concurrency,
    timeoutMs,
    async execute({ agent, task, context: more }, context) {
      const chosen = known.get(agent);
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
  if (!Array.isArray(agents) || agents.length === 0) throw optionError(`${SUBJECT}(agents)`, expected, agents);
  const other = agents.findIndex((agent: Tool) => !isAgentTool(agent));
  if (other >= 0)
    throw optionError(`${SUBJECT}(agents[${other}])`, "an agent made by agentAsTool or loadAgents", agents[other]);
  return new ToolSet(agents as readonly Tool[], `${SUBJECT}(agents)`);
}

/** The value of an agent's answer. Nothing else checks it against the agent's own schema. */
async function valueOf({ name, outputSchema: output }: Tool, given: unknown): Promise<unknown> {
  const validated = output ? await validate(output, given) : { ok: true as const, value: given };
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
      task: { type: "string", minLength: 1, description: "what to do, with all that is needed to do it" },
      context: { type: "string", description: "text that belongs to the task, like a result of another call" },
    },
    required: ["agent", "task"],
    additionalProperties: false,
  };
}
