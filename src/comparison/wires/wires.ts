import { type ProviderName, PROVIDERS } from "../../models/providers.ts";
import { anthropicWire } from "./anthropic-wire.ts";
import { geminiWire } from "./gemini-wire.ts";
import { openAiChatWire } from "./openai-chat-wire.ts";
import { openAiResponsesWire } from "./openai-responses-wire.ts";
import type { Wire } from "./wire.ts";

const BY_PROVIDER: Readonly<Record<ProviderName, Wire>> = {
  anthropic: anthropicWire,
  openai: openAiResponsesWire,
  "openai-chat": openAiChatWire,
  gemini: geminiWire,
};

/** One wire for each provider, by its name. */
export const WIRES: ReadonlyMap<string, Wire> = new Map(
  [...PROVIDERS.values()].map(({ name }) => [name, BY_PROVIDER[name]]),
);
