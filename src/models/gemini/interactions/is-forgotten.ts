/** How much of a provider's words is looked at, in UTF-16 code units. */
const WORDS_LENGTH = 2000;

const STATUSES: ReadonlySet<unknown> = new Set([400, 403, 404, 410]);
const NAMES = /\binteraction\b|previous_interaction_id|turn token|requested entity/i;
const IS_GONE = /not found|invalid|unknown|expired|deleted|no longer|exist/i;

/**
 * Whether a server that was asked to go on from an interaction says that it does not have it. Nothing documents the
 * words; servers were seen to say status 400 with "Invalid turn token: ID", and 404 with "not found". An error about
 * anything else, like an unknown model, would be the same for the whole history.
 */
export function isForgotten(error: unknown, interaction: string | undefined): boolean {
  if (interaction === undefined || !(error instanceof Error)) return false;
  const words = error.message.slice(0, WORDS_LENGTH);
  const isNamed = NAMES.test(words) || words.includes(interaction);
  return STATUSES.has((error as { readonly status?: unknown }).status) && isNamed && IS_GONE.test(words);
}
