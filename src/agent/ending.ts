import type { ProviderFailure } from "../models/model.ts";
import { waitingText } from "../output/sentences.ts";
import type { Waiting } from "../programs/waiting.ts";

/** How a conversation ended, or why it rests. */
export type AgentEnding =
  | { readonly type: "answered"; readonly answer: string }
  /** The model did not finish within its turns. */
  | { readonly type: "turns_spent"; readonly allowed: number }
  /** The model did not finish within its tokens. `seen` is what it used. */
  | { readonly type: "tokens_spent"; readonly allowed: number; readonly seen: number }
  /** The model or its provider refused the task. */
  | { readonly type: "refused"; readonly reason: string }
  /** The last turn is incomplete; its calls were not made. */
  | { readonly type: "cut_off"; readonly reason: string }
  | { readonly type: "provider_failed"; readonly failure: ProviderFailure }
  | { readonly type: "cancelled" }
  /** Only decisions or results from outside bring it further. It has no outcome in the journal; `resumeAgent` goes on. */
  | Waiting;

type EndingTexts = {
  readonly [Type in AgentEnding["type"]]: (ending: Extract<AgentEnding, { readonly type: Type }>) => string;
};

/** One entry for each type of ending, which the compiler checks: the list of endings below comes from it. */
const TEXTS: EndingTexts = {
  answered: ({ answer }) => answer,
  turns_spent: ({ allowed }) =>
    `The model had ${allowed} turns (maxTurns) and had not finished. Allow more, or ask for less.`,
  tokens_spent: ({ allowed, seen }) =>
    `The model may use ${allowed} tokens (maxTokens) and has used ${seen}. Allow more, or ask for less.`,
  refused: ({ reason }) => `The model would not do it: ${reason}`,
  cut_off: ({ reason }) => `The model's last turn was cut off, and nothing of it was done: ${reason}`,
  provider_failed: ({ failure }) => failure.message,
  cancelled: () => "The conversation was cancelled.",
  waiting: (waiting) => waitingText("conversation", waiting),
};

export const AGENT_ENDINGS: ReadonlySet<string> = new Set(Object.keys(TEXTS));

/** An ending in a sentence, for the author of the task. */
export function agentEndingText(ending: AgentEnding): string {
  return (TEXTS[ending.type] as (ending: AgentEnding) => string)(ending);
}
