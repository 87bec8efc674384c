import type { Conversation, Model } from "../model.ts";
import type { ConversationParts } from "./provider-conversation.ts";
import { type ProviderOptions, type ProviderTraits, resolveOptions } from "./provider-options.ts";
import { ProviderRequests } from "./provider-requests.ts";
import { checkSettings } from "../settings.ts";

/** A row of the table of providers. */
export interface Provider extends ProviderTraits {
  readonly converse: (parts: ConversationParts) => Promise<Conversation>;
}

/** A model of a provider. Throws `option_invalid`, and `model_unavailable` if there is no key. */
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
