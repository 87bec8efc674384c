import { optionError, PortcullisError } from "../../base/index.ts";
import { defineTool, runsAt } from "../../tools/define-tool.ts";
import { CALLERS, type Tool } from "../../tools/tool.ts";
import { issuesText, jsonSchema, type Schema, validate } from "../../tools/schema.ts";
import { ToolSet } from "../../tools/tool-set.ts";
import { AGENT, isAgentTool, TEXT } from "./agent-as-tool.ts";

const SUBJECT = "taskTool";

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
  const known = agentsOf(agents);
  const { all } = known;
  const allowedCallers = CALLERS.filter((caller) => all.every((agent) => agent.allowedCallers.includes(caller)));
  if (allowedCallers.length === 0)
    throw new PortcullisError(
      "option_invalid",
      `${SUBJECT}(agents): no caller may call all of these agents. Give them allowedCallers that they share.`,
    );
  const output: Schema = TEXT;
  const tool = defineTool({
    name: "task",
    description: descriptionOf(all),
    inputSchema: jsonSchema<TaskInput>(inputOf(all)),
    ...(all.every((agent) => agent.outputSchema === TEXT) ? { outputSchema: output } : {}),
    allowedCallers,
    effect: all.every(({ effect }) => effect === "read")
      ? "read"
      : (input) => known.get(input.agent)?.effect ?? "write",
    onUnknown: "retry",
    concurrency: Math.min(...all.map((agent) => agent.concurrency)),
    timeoutMs: Math.max(...all.map((agent) => agent.timeoutMs)),
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
