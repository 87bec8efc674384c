import { PortcullisError } from "../base/index.ts";
import { type Effect, EFFECTS, type Tool } from "./tool.ts";

export interface CallEffect {
  readonly effect: Effect;
  /** For the operator: why the tool's `effect` function gave none, so that the call counts as a `write`. */
  readonly error?: unknown;
}

/** What a call with this checked input changes. If the tool's function throws, or gives no effect, the call counts as a `write`. */
export function effectOfCall(
  { name, effect, effectOf }: Pick<Tool, "name" | "effect" | "effectOf">,
  input: unknown,
): CallEffect {
  if (!effectOf) return { effect };
  try {
    const answer: unknown = effectOf(input);
    const match = EFFECTS.find((one) => one === answer);
    if (match !== undefined) return { effect: match };
    const message = `The \`effect\` function of ${name} gave no effect, so the call counted as a write.`;
    return { effect: "write", error: new PortcullisError("callback_failed", message) };
  } catch (error) {
    return { effect: "write", error };
  }
}

export function graverEffect(one: Effect, other: Effect = "read"): Effect {
  return EFFECTS.indexOf(one) > EFFECTS.indexOf(other) ? one : other;
}
