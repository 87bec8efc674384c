import type { ProviderFailure } from "../models/model.ts";

/** How a conversation ended. Exactly one, always. */
export type AgentEnding =
  | { readonly type: "answered"; readonly answer: string }
  /** The model would have gone on, and may not. */
  | { readonly type: "turns_spent"; readonly allowed: number }
  | { readonly type: "tokens_spent"; readonly allowed: number; readonly seen: number }
  /** The model, or its provider, would not do it. */
  | { readonly type: "refused"; readonly reason: string }
  /** The last turn is not whole, and nothing of it was done. */
  | { readonly type: "cut_off"; readonly reason: string }
  | { readonly type: "provider_failed"; readonly failure: ProviderFailure }
  | { readonly type: "cancelled" };

/** An ending in a sentence, for whoever gave the task. */
export function agentEndingText(ending: AgentEnding): string {
  switch (ending.type) {
    case "answered":
      return ending.answer;
    case "turns_spent":
      return `The model had ${ending.allowed} turns (maxTurns) and had not finished. Allow more, or ask for less.`;
    case "tokens_spent":
      return `The model may use ${ending.allowed} tokens (maxTokens) and has used ${ending.seen}. Allow more, or ask for less.`;
    case "refused":
      return `The model would not do it: ${ending.reason}`;
    case "cut_off":
      return `The model's last turn was cut off, and nothing of it was done: ${ending.reason}`;
    case "provider_failed":
      return ending.failure.message;
    case "cancelled":
      return "The conversation was cancelled.";
  }
}
