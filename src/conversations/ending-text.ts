import { waitingText } from "../executions/output/sentences.ts";
import type { CLIENT_OUTCOME, Outcome } from "../executions/outcome.ts";
import { type Fields, isFields, type SchemaType } from "../base/index.ts";
import type { AgentEnding } from "./event.ts";

type EndingTexts = {
  readonly [Type in AgentEnding["type"]]: (ending: Extract<AgentEnding, { readonly type: Type }>) => string;
};

/** One entry for each type of ending, which the compiler checks. */
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
  cancelled: ({ code }) =>
    code === undefined
      ? "The conversation was cancelled."
      : "The conversation was cancelled, because the key that it belongs to was changed or revoked, or has expired.",
  waiting: (waiting) => waitingText("conversation", waiting),
};

export function agentEndingText(ending: AgentEnding): string {
  return (TEXTS[ending.type] as (ending: AgentEnding) => string)(ending);
}

/**
 * An ending as clients and calling models may see it. What an engine said before it died, and what a provider says of a key
 * or an account, are for the operator.
 */
export function clientEnding(ending: Outcome): SchemaType<typeof CLIENT_OUTCOME>;
export function clientEnding(ending: AgentEnding): AgentEnding;
export function clientEnding(ending: Fields): Fields;
export function clientEnding(ending: Fields): Fields {
  const { detail: _detail, ...rest } = ending;
  const { failure } = rest;
  if (!isFields(failure)) return rest;
  const message = "Its model could not be reached.";
  const { request: _request, ...facts } = failure;
  return { ...rest, failure: { ...facts, message } };
}
