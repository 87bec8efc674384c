import { flag, oneOf, type OptionsOf, withDefault } from "../../base/index.ts";
import type { ModelConversation, Model } from "../model.ts";
import { checkSettings } from "../settings.ts";
import { declaredFor } from "../turn/declared-input.ts";
import type { ProviderParts } from "./provider-conversation.ts";
import { type ProviderOptions, type ProviderTraits, refuseNotStrict, resolveOptions } from "./provider-options.ts";
import { ProviderRequests } from "./provider-requests.ts";

export interface Provider extends ProviderTraits {
  /** Loads the class of its conversations, and what makes the SDK's client for one. */
  readonly load: () => Promise<{
    readonly Conversation: new (parts: ProviderParts, client: never) => ModelConversation;
    readonly openClient: (parts: ProviderParts) => Promise<unknown>;
  }>;
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
  forcesHosted: false,
};

export const ANTHROPIC_OPTIONS = {
  /**
   * How long Anthropic keeps what requests of a conversation have in common, so that reading it again costs a tenth: `"5m"` (the
   * default) or `"1h"` from its last use; `"off"` asks for no cache.
   */
  cache: withDefault(oneOf(["5m", "1h", "off"]), "5m"),
  /**
   * Whether Anthropic streams inputs of calls as the model writes them, and does not wait for each field to be whole; true by
   * default. A compatible server that refuses `eager_input_streaming` needs false.
   */
  eagerInput: withDefault(flag(), true),
};

const ANTHROPIC = {
  name: "anthropic",
  title: "Anthropic",
  maker: "anthropic",
  keyVariable: "ANTHROPIC_API_KEY",
  sdk: "@anthropic-ai/sdk",
  hostsPrograms: true,
  compactsFrom: 50_000,
  takes: {
    ...TAKES,
    stops: Infinity,
    maxTemperature: 1,
    whileReasoning: false,
    searches: ["allowedDomains", "maxUses"],
  },
  inputs: { notAtTop: ["anyOf", "oneOf", "allOf"], fieldNames: /^[a-zA-Z0-9_.-]{1,64}$/ },
  media: { inMessages: FILES, inResults: FILES, byUrl: DOCUMENTS },
  own: ANTHROPIC_OPTIONS,
  load: () => import("../anthropic/conversation.ts"),
} as const satisfies Provider;

const OPENAI_INPUTS = {
  notAtTop: ["anyOf", "oneOf", "allOf", "not", "enum", "$ref"],
  // It reads them as Python does, without what looks around.
  notPattern: /\(\?(?!:)|\\[pPck]|\\u\{|\[\^?\]/,
};

export const OPENAI_OPTIONS = {
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
  compactsFrom: 1000,
  takes: {
    ...TAKES,
    minOutputTokens: 16,
    stops: 0,
    forcesHosted: true,
    searches: ["allowedDomains", "maxUses"],
  },
  inputs: OPENAI_INPUTS,
  media: { inMessages: FILES, inResults: FILES, byUrl: DOCUMENTS },
  own: OPENAI_OPTIONS,
  load: () => import("../openai/responses/conversation.ts"),
} as const satisfies Provider;

const OPENAI_CHAT = {
  name: "openai-chat",
  title: "OpenAI",
  maker: "openaiChat",
  keyVariable: "OPENAI_API_KEY",
  sdk: "openai",
  hostsPrograms: false,
  takes: { ...TAKES, stops: 4, summaries: false },
  inputs: OPENAI_INPUTS,
  media: { inMessages: DOCUMENTS, inResults: DOCUMENTS, byUrl: IMAGES },
  own: {},
  load: () => import("../openai/chat/conversation.ts"),
} as const satisfies Provider;

/** Google's own programs cannot call tools. */
const GEMINI = {
  name: "gemini",
  title: "Gemini",
  maker: "gemini",
  keyVariable: "GEMINI_API_KEY",
  sdk: "@google/genai",
  hostsPrograms: false,
  takes: { ...TAKES, stops: 5, oneCall: false, searches: [] },
  // What its schemas lack is left out of them.
  inputs: {},
  media: {
    inMessages: ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/*", "audio/*", "video/*"],
    inResults: ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"],
    byUrl: [],
  },
  own: {},
  load: () => import("../gemini/conversation.ts"),
} as const satisfies Provider;

export type ProviderName = "anthropic" | "openai" | "openai-chat" | "gemini";

/** All providers by name, in the order in which they are listed for users. */
export const PROVIDERS: ReadonlyMap<string, Provider & { readonly name: ProviderName }> = new Map(
  [ANTHROPIC, OPENAI, OPENAI_CHAT, GEMINI].map((provider) => [provider.name, provider]),
);

export type AnthropicOptions = ProviderOptions & OptionsOf<typeof ANTHROPIC_OPTIONS>;

/** Models of Anthropic's Messages API, and of compatible servers. Programs run locally, or hosted by Anthropic. */
export function anthropic(options: AnthropicOptions): Model {
  return makeModel(ANTHROPIC, options);
}

export type OpenAiOptions = ProviderOptions & OptionsOf<typeof OPENAI_OPTIONS>;

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
  const { hostsPrograms, compactsFrom } = provider;
  return {
    name,
    hostsPrograms,
    givesSummaries: provider.takes.summaries,
    compactsFrom,
    async converse(opening) {
      checkSettings({ model: name, takes: provider.takes }, opening);
      const parts = {
        model: name,
        provider,
        options: resolved,
        opening: declaredFor(opening, provider.inputs),
        requests: new ProviderRequests(resolved),
      };
      const { Conversation, openClient } = await provider.load();
      const conversation = new Conversation(parts, (await openClient(parts)) as never);
      if (resolved.strict === "all") refuseNotStrict(name, conversation.notStrict);
      return conversation;
    },
  };
}
