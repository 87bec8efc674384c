import { isDeepStrictEqual } from "node:util";
import { isAgentTool } from "../agent/as-tools/agent-as-tool.ts";
import { PortcullisError } from "../errors.ts";
import { array, checkOptions, fieldsOf, option, type OptionsOf, required, words } from "../option-rules/options.ts";
import { oneLine } from "../tools/declarations/one-line.ts";
import type { Tool } from "../tools/tool.ts";

export interface PlannedCall {
  readonly tool: string;
  readonly input: unknown;
}

/** Calls that need only the results of the layers before. */
export type Layers = readonly (readonly PlannedCall[])[];

export const BEST_RULES = {
  /** Tools made for the question. */
  tools: required(array<Tool>("an array of tools")),
  /** Calls of them, in layers: the calls of a layer need only the results of the layers before. The last call returns the answer. */
  calls: required(option<Layers>('layers of calls, like [[{ "tool": "a.b", "input": {} }]]', areLayers)),
};

export const TASK_RULES = {
  /** Name of the task, for reports. */
  name: required(words()),
  /** The question as a user asks it. */
  question: required(words()),
  /** Source of a program that returns the answer; in JavaScript, unless the comparison says another language. */
  program: required(words()),
  /** The right answer, a JSON value, compared deeply. */
  answer: required(option<unknown>("the right answer, as JSON", (value) => value !== undefined)),
  /** Tools made for the question, and calls of them, `{ tools, calls }`. */
  best: option<OptionsOf<typeof BEST_RULES>>("tools, and calls of them", (value) => typeof value === "object"),
};

/** A question, a program that answers it, and the right answer. */
export type ComparisonTask = OptionsOf<typeof TASK_RULES>;

/** Throws `option_invalid` with the name of the wrong field. */
export function checkTask(task: ComparisonTask): void {
  const { best } = checkOptions(fieldsOf("task"), task, TASK_RULES);
  if (best !== undefined) checkOptions(fieldsOf("task.best"), best, BEST_RULES);
}

function areLayers(value: unknown): boolean {
  const isCall = (call: Partial<PlannedCall> | null) =>
    typeof call === "object" && call !== null && typeof call.tool === "string" && call.input !== undefined;
  const isLayer = (layer: unknown) => Array.isArray(layer) && layer.length > 0 && layer.every(isCall);
  return Array.isArray(value) && value.length > 0 && value.every(isLayer);
}

/** How a value differs from the task's answer, in one line; undefined if it does not. */
export function differenceFrom(answer: unknown, value: unknown): string | undefined {
  if (isDeepStrictEqual(value, answer)) return undefined;
  const shown = (one: unknown) => (one === undefined ? "nothing" : oneLine(JSON.stringify(one), 200));
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
  return { ...tool, output: undefined, approvable: false, needsApproval: () => false, handler };
}
