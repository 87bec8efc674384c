import { isDeepStrictEqual } from "node:util";
import { isAgentTool } from "../conversations/as-tools/agent-as-tool.ts";
import { option, type OptionsOf, PortcullisError, required, words } from "../base/index.ts";
import { commentLine } from "../tools/declarations/one-line.ts";
import type { Tool } from "../tools/tool.ts";

export const TASK_RULES = {
  /** Name of the task, for reports. */
  name: required(words()),
  /** The question as a user asks it. */
  question: required(words()),
  /** Source of a program in JavaScript that returns the answer. */
  program: required(words()),
  /** The right answer, a JSON value, compared deeply. */
  answer: required(option<unknown>("the right answer, as JSON", (value) => value !== undefined)),
};

/** A question, a program that answers it, and the right answer. */
export type ComparisonTask = OptionsOf<typeof TASK_RULES>;

/** How a value differs from the task's answer, in one line; undefined if it does not. */
export function differenceFrom(answer: unknown, value: unknown): string | undefined {
  if (isDeepStrictEqual(value, answer)) return undefined;
  const shown = (one: unknown) => (one === undefined ? "nothing" : commentLine(JSON.stringify(one), 200));
  return `expected ${shown(answer)}, got ${shown(value)}`;
}

/**
 * The tool as a measurement declares it. A measurement makes every call several times, so a tool that changes something
 * fails when it is called. An agent fails too, because the tokens of its model would not be counted.
 */
export function withoutSideEffects(tool: Tool): Tool {
  const why = isAgentTool(tool) ? "is an agent" : tool.effect === "read" ? undefined : "changes something";
  if (why === undefined) return tool;
  const handler = () => {
    throw new PortcullisError(
      "tool_failed",
      `${tool.name} ${why}, and a measurement makes every call several times: the call is not made.`,
    );
  };
  return { ...tool, outputSchema: undefined, approvable: false, needsApproval: () => false, execute: handler };
}
