import { optionError, refuseUnknownOptions } from "../errors.ts";
import type { Tool } from "../tools/tool.ts";

/** A question, a program that answers it, and the right answer. */
export interface ComparisonTask {
  readonly name: string;
  /** The question as a user asks it. */
  readonly question: string;
  /** Source in JavaScript, which returns the answer. */
  readonly program: string;
  /** The right answer, which is compared deeply. JSON. */
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

const TASK_FIELDS = ["name", "question", "program", "answer", "direct", "best"];
const BEST_FIELDS = ["tools", "calls"];

/** Throws `option_invalid` with the name of the wrong field. */
export function checkTask(task: ComparisonTask): void {
  if (typeof task !== "object" || task === null) throw optionError("task", "an object", task);
  refuseUnknownOptions("task", task, TASK_FIELDS);
  for (const field of ["name", "question", "program"] as const)
    if (typeof task[field] !== "string" || task[field].trim() === "")
      throw optionError(`task.${field}`, "a text", task[field]);
  if (task.answer === undefined) throw optionError("task.answer", "the right answer, as JSON", task.answer);
  if (task.direct !== undefined) checkLayers("task.direct", task.direct);
  if (task.best === undefined) return;
  if (typeof task.best !== "object" || task.best === null)
    throw optionError("task.best", "tools, and calls of them", task.best);
  refuseUnknownOptions("task.best", task.best, BEST_FIELDS);
  if (!Array.isArray(task.best.tools)) throw optionError("task.best.tools", "an array of tools", task.best.tools);
  checkLayers("task.best.calls", task.best.calls);
}

function checkLayers(field: string, layers: unknown): void {
  const isCall = (call: Partial<PlannedCall> | null) =>
    typeof call === "object" && call !== null && typeof call.tool === "string" && call.input !== undefined;
  const isLayer = (layer: unknown) => Array.isArray(layer) && layer.length > 0 && layer.every(isCall);
  if (!Array.isArray(layers) || layers.length === 0 || !layers.every(isLayer))
    throw optionError(field, 'layers of calls, like [[{ "tool": "a.b", "input": {} }]]', layers);
}
