import { optionError, refuseUnknownOptions } from "../errors.ts";
import type { Tool } from "../tools/tool.ts";

/** A question with a program that answers it: what is asked both ways. */
export interface ComparisonTask {
  readonly name: string;
  /** As a user asks it. */
  readonly question: string;
  /** Source in JavaScript, which returns the answer. */
  readonly program: string;
  /** The right answer, which is compared deeply. JSON. */
  readonly answer: unknown;
  /**
   * Calls that answer the question directly, in layers: those of one layer need only the answers of those before. The
   * program's own calls by default.
   */
  readonly direct?: readonly (readonly PlannedCall[])[];
  /** Tools that make the question easy, and calls of them, the last of which returns the answer. */
  readonly best?: { readonly tools: readonly Tool[]; readonly calls: readonly (readonly PlannedCall[])[] };
}

export interface PlannedCall {
  readonly tool: string;
  readonly input: unknown;
}

const TASK_FIELDS = ["name", "question", "program", "answer", "direct", "best"];
const BEST_FIELDS = ["tools", "calls"];

/** Throws `option_invalid` for what is no task, naming the field. */
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
