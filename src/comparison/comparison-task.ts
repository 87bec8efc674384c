import { optionError } from "../errors.ts";
import { array, checkOptions, fieldsOf, option, required, words } from "../option-rules/options.ts";
import type { Tool } from "../tools/tool.ts";

/** A question, a program that answers it, and the right answer. */
export interface ComparisonTask {
  /** Name of the task, for reports. */
  readonly name: string;
  /** The question as a user asks it. */
  readonly question: string;
  /** Source of a program that returns the answer; in JavaScript, unless the comparison says another language. */
  readonly program: string;
  /** The right answer, a JSON value, compared deeply. */
  readonly answer: unknown;
  /**
   * Direct calls that answer the question, in layers: the calls of a layer need only the results of the layers before.
   * By default the calls that the program makes.
   */
  readonly direct?: readonly (readonly PlannedCall[])[];
  /** Tools made for the question, and calls of them. The last call returns the answer. */
  readonly best?: { readonly tools: readonly Tool[]; readonly calls: readonly (readonly PlannedCall[])[] };
}

export interface PlannedCall {
  readonly tool: string;
  readonly input: unknown;
}

export const TASK_RULES = {
  name: required(words()),
  question: required(words()),
  program: required(words()),
  answer: required(option<unknown>("the right answer, as JSON", (value) => value !== undefined)),
  direct: option<unknown>("layers of calls", () => true),
  best: option<object>("tools, and calls of them", (value) => typeof value === "object" && value !== null),
};
export const BEST_RULES = {
  /** Tools made for the question. */
  tools: required(array("an array of tools")),
  /** Calls of them, in layers. The last call returns the answer. */
  calls: required(option<unknown>("layers of calls", () => true)),
};

/** Throws `option_invalid` with the name of the wrong field. */
export function checkTask(task: ComparisonTask): void {
  const { direct, best } = checkOptions(fieldsOf("task"), task, TASK_RULES);
  if (direct !== undefined) checkLayers("task.direct", direct);
  if (best !== undefined) checkLayers("task.best.calls", checkOptions(fieldsOf("task.best"), best, BEST_RULES).calls);
}

function checkLayers(field: string, layers: unknown): void {
  const isCall = (call: Partial<PlannedCall> | null) =>
    typeof call === "object" && call !== null && typeof call.tool === "string" && call.input !== undefined;
  const isLayer = (layer: unknown) => Array.isArray(layer) && layer.length > 0 && layer.every(isCall);
  if (!Array.isArray(layers) || layers.length === 0 || !layers.every(isLayer))
    throw optionError(field, 'layers of calls, like [[{ "tool": "a.b", "input": {} }]]', layers);
}
