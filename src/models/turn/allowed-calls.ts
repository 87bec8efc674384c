import type { ModelCall, ModelSettings, ToolChoice } from "../model.ts";

const NO_CALL = "It was not made, because this turn allowed no calls. Answer with what you have.";
const ONE_CALL = "It was not made, because a turn may make one call here. Make it in a turn of its own.";

/** Marks the calls that their turn did not allow: some servers ignore what a request forbids. */
export function allowedCalls(
  calls: readonly ModelCall[],
  toolChoice: ToolChoice,
  { parallelCalls = true }: ModelSettings,
): readonly ModelCall[] {
  if (toolChoice === "none") return calls.map((call) => ({ ...call, forbidden: NO_CALL }));
  if (parallelCalls) return calls;
  return calls.map((call, index) => (index === 0 ? call : { ...call, forbidden: ONE_CALL }));
}
