import { BASELINE, HEADLINE, type Mode, type Verdict } from "../comparison.ts";
import type { ComparisonRequest } from "../comparison-request.ts";
import type { ConversationRun } from "./task-run.ts";

/** Warnings that belong to the figures of a comparison. */
export function notesOf(
  { task, wires }: ComparisonRequest,
  { outcomes, layers }: ConversationRun,
  probed: ConversationRun,
  verdicts: ReadonlyMap<Mode, Verdict>,
  barred: readonly string[],
): string[] {
  const outcome = outcomes.at(-1);
  const calls = layers.flat().length;
  const given = task.direct ?? layers;
  return [
    ...(outcome?.type === "completed"
      ? []
      : [`The program did not complete (${outcome?.type ?? "it was not run"}): correct it, then compare.`]),
    ...(probed.outcomes[0]?.type === "completed"
      ? []
      : ["The probing program, which reads samples, did not complete. One that completes would cost more."]),
    ...(barred.length > 0
      ? [`Direct calls were not measured, because only programs may call ${barred.join(", ")}.`]
      : []),
    ...(new Set([verdicts.get("programmatic"), verdicts.get(HEADLINE), verdicts.get("programmatic+retry")]).size > 1
      ? [
          "The same program gave different answers: a tool, or the program, is not deterministic. Use fixed data, then compare.",
        ]
      : []),
    ...(verdicts.get(BASELINE) === "unchecked"
      ? [
          "It is unchecked whether the direct calls lead to the answer, because the program makes a call that is not among them. Give both the same calls.",
        ]
      : []),
    ...(given.flat().length > calls || given.length > layers.length
      ? [
          `The task gives ${given.flat().length} direct calls in ${given.length} steps, but the program makes ${calls} in ${layers.length}: more direct calls than needed make programs look better than they are.`,
        ]
      : []),
    ...(!task.direct && layers.length > 2
      ? [
          `The program makes its ${calls.toLocaleString("en-US")} calls in ${layers.length} steps, one after the other, so direct calls are counted so too. Where they do not need each other's answers, use Promise.all, or give the task its direct calls.`,
        ]
      : []),
    ...(wires.every(({ exact }) => exact)
      ? []
      : ["Tokens of Claude and Gemini are estimates: their encodings are not public."]),
  ];
}
