import type { ProviderFailure } from "../models/model.ts";
import { waitingText } from "../output/sentences.ts";
import type { Waiting } from "../programs/waiting.ts";

/** How a conversation ended, or why it rests. */
export type AgentEnding =
  /** `wrappedUp`: it was the last turn that was left, and could make no calls. */
  | { readonly type: "answered"; readonly answer: string; readonly wrappedUp?: true }
  /** The model did not finish within its turns. */
  | { readonly type: "turns_spent"; readonly allowed: number }
  /** The model did not finish within its tokens. `seen` is what it used. */
  | { readonly type: "tokens_spent"; readonly allowed: number; readonly seen: number }
  /** The model or its provider refused the task. */
  | { readonly type: "refused"; readonly reason: string }
  /** The last turn is incomplete; its calls were not made. */
  | { readonly type: "cut_off"; readonly reason: string }
  /** The model made the same calls again and again, with the same answers, also after it was told. */
  | { readonly type: "stuck"; readonly tool: string; readonly times: number }
  /** `stopWhen` said so. */
  | { readonly type: "stopped" }
  /** The answer does not fit the schema, also after the model was told why. */
  | { readonly type: "answer_invalid"; readonly answer: string; readonly reason: string }
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
  stuck: ({ tool, times }) =>
    `The model called ${tool} ${times} times in a row with the same input, and got the same answer each time.`,
  stopped: () => "The conversation was stopped by `stopWhen`.",
  answer_invalid: ({ reason }) => `The model's answer does not fit the schema, also when it was asked again: ${reason}`,
  provider_failed: ({ failure }) => failure.message,
  cancelled: () => "The conversation was cancelled.",
  waiting: (waiting) => waitingText("conversation", waiting),
};

export const AGENT_ENDINGS: ReadonlySet<string> = new Set(Object.keys(TEXTS));

/** An ending in a sentence, for the author of the task. */
export function agentEndingText(ending: AgentEnding): string {
  return (TEXTS[ending.type] as (ending: AgentEnding) => string)(ending);
}
