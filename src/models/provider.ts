import type { Conversation, Model } from "./model.ts";
import type { MediaTaken } from "./content-parts.ts";
import type { ConversationParts } from "./provider-conversation.ts";
import { type FlagRules, type ProviderOptions, resolveOptions } from "./provider-options.ts";
import { ProviderRequests } from "./provider-requests.ts";
import { checkSettings, type SettingsTaken } from "./settings.ts";

/** A row of the table of providers. */
export interface Provider {
  /** Prefix of model names: `anthropic` in `anthropic:claude-opus-4-5`. */
  readonly name: string;
  /** Its name in sentences, like `Anthropic`. */
  readonly title: string;
  /** The public function that makes its models, as errors name it. */
  readonly maker: string;
  /** Environment variable with its key. */
  readonly keyVariable: string;
  /** npm package of its SDK: an optional peer dependency, loaded when a conversation begins. */
  readonly sdk: string;
  /** Whether it can run programs that call our tools. */
  readonly hostsPrograms: boolean;
  /** What it takes of the settings of a conversation. */
  readonly takes: SettingsTaken;
  /** Which content it takes beside text. */
  readonly media: MediaTaken;
  /** Rules of the options of this provider alone. */
  readonly flags: FlagRules;
  readonly converse: (parts: ConversationParts) => Promise<Conversation>;
}

/** A model of a provider. Throws `option_invalid`, and `model_unavailable` where there is no key. */
export function makeModel(provider: Provider, options: ProviderOptions): Model {
  const resolved = resolveOptions(provider, options);
  const name = `${provider.name}:${resolved.model}`;
  return {
    name,
    hostsPrograms: provider.hostsPrograms,
    async converse(opening) {
      checkSettings({ model: name, takes: provider.takes }, opening);
      const requests = new ProviderRequests(resolved);
      return provider.converse({ model: name, provider, options: resolved, opening, requests });
    },
  };
}
