import { flag, type OptionsOf, withDefault } from "../../option-rules/options.ts";
import type { Conversation, Model } from "../model.ts";
import { checkSettings } from "../settings.ts";
import type { ConversationParts } from "./provider-conversation.ts";
import { type ProviderOptions, type ProviderTraits, resolveOptions } from "./provider-options.ts";
import { ProviderRequests } from "./provider-requests.ts";

export interface Provider extends ProviderTraits {
  readonly converse: (parts: ConversationParts) => Promise<Conversation>;
}

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const DOCUMENTS = [...IMAGES, "application/pdf"];
const FILES = [...DOCUMENTS, "text/*"];

/** What a provider takes, unless its row says otherwise. */
const TAKES = {
  minOutputTokens: 1,
  maxTemperature: 2,
  oneCall: true,
  summaries: true,
  whileReasoning: true,
  forcesFound: true,
  forcesHosted: false,
};

const ANTHROPIC = {
  name: "anthropic",
  title: "Anthropic",
  maker: "anthropic",
  keyVariable: "ANTHROPIC_API_KEY",
  sdk: "@anthropic-ai/sdk",
  hostsPrograms: true,
  takes: { ...TAKES, stops: Number.POSITIVE_INFINITY, maxTemperature: 1, whileReasoning: false },
  media: { inMessages: FILES, inResults: FILES, byUrl: DOCUMENTS },
  flags: {},
  converse: async (parts) => (await import("../anthropic/conversation.ts")).converseByAnthropic(parts),
} as const satisfies Provider;

export const OPENAI_FLAGS = {
  /** Whether OpenAI stores the conversation, so that each request sends only what is new; false by default. */
  store: withDefault(flag(), false),
};

const OPENAI = {
  name: "openai",
  title: "OpenAI",
  maker: "openai",
  keyVariable: "OPENAI_API_KEY",
  sdk: "openai",
  hostsPrograms: true,
  takes: { ...TAKES, minOutputTokens: 16, stops: 0, forcesFound: false, forcesHosted: true },
  media: { inMessages: FILES, inResults: FILES, byUrl: DOCUMENTS },
  flags: OPENAI_FLAGS,
  converse: async (parts) => (await import("../openai/responses/conversation.ts")).converseByOpenAiResponses(parts),
} as const satisfies Provider;

const OPENAI_CHAT = {
  name: "openai-chat",
  title: "OpenAI",
  maker: "openaiChat",
  keyVariable: "OPENAI_API_KEY",
  sdk: "openai",
  hostsPrograms: false,
  takes: { ...TAKES, stops: 4, summaries: false },
  media: { inMessages: DOCUMENTS, inResults: DOCUMENTS, byUrl: IMAGES },
  flags: {},
  converse: async (parts) => (await import("../openai/chat/conversation.ts")).converseByOpenAiChat(parts),
} as const satisfies Provider;

/** Google's own programs cannot call tools. */
const GEMINI = {
  name: "gemini",
  title: "Gemini",
  maker: "gemini",
  keyVariable: "GEMINI_API_KEY",
  sdk: "@google/genai",
  hostsPrograms: false,
  takes: { ...TAKES, stops: 5, oneCall: false },
  media: {
    inMessages: ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/*", "audio/*", "video/*"],
    inResults: ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"],
    byUrl: [],
  },
  flags: {},
  converse: async (parts) => (await import("../gemini/conversation.ts")).converseByGemini(parts),
} as const satisfies Provider;

const ALL = [ANTHROPIC, OPENAI, OPENAI_CHAT, GEMINI] as const;

export type ProviderName = (typeof ALL)[number]["name"];

/** All providers by name, in the order in which they are listed for users. */
export const PROVIDERS: ReadonlyMap<string, Provider & { readonly name: ProviderName }> = new Map(
  ALL.map((provider) => [provider.name, provider]),
);

/** Models of Anthropic's Messages API, and of compatible servers. Programs run locally, or hosted by Anthropic. */
export function anthropic(options: ProviderOptions): Model {
  return makeModel(ANTHROPIC, options);
}

export type OpenAiOptions = ProviderOptions & OptionsOf<typeof OPENAI_FLAGS>;

/** Models of OpenAI's Responses API. Programs run locally, or hosted by OpenAI. */
export function openai(options: OpenAiOptions): Model {
  return makeModel(OPENAI, options);
}

/** Models of OpenAI's Chat Completions, and of compatible servers, local ones too, by `baseUrl`. Programs run locally. */
export function openaiChat(options: ProviderOptions): Model {
  return makeModel(OPENAI_CHAT, options);
}

/** Models of Gemini's generateContent. Programs run locally. */
export function gemini(options: ProviderOptions): Model {
  return makeModel(GEMINI, options);
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
