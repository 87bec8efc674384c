/** Characters of a name or an id in an attribute: ids of calls come from providers. */
const WORD_CHARACTERS = 128;

/** A short text that every exporter can encode, in one line. */
export function word(text: string): string {
  const short = text.length > WORD_CHARACTERS ? `${text.slice(0, WORD_CHARACTERS)}…` : text;
  return short.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\u{fffd}");
}

/** Names of providers in the GenAI conventions, where they differ from the prefix of a model's name. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ["openai-chat", "openai"],
  ["gemini", "gcp.gemini"],
]);

/** The attributes of a model that is named like `anthropic:claude-opus-4-5`. */
export function modelAttributes(name: string): {
  readonly "gen_ai.provider.name": string;
  readonly "gen_ai.request.model": string;
} {
  const colon = name.indexOf(":");
  const provider = colon === -1 ? "unknown" : name.slice(0, colon);
  return {
    "gen_ai.provider.name": word(PROVIDERS.get(provider) ?? provider),
    "gen_ai.request.model": word(name.slice(colon + 1)),
  };
}
