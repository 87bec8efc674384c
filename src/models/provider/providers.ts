import { flag, type OptionsOf, withDefault } from "../../option-rules/options.ts";
import type { Model } from "../model.ts";
import { makeModel, type Provider } from "./provider.ts";
import type { ProviderOptions } from "./provider-options.ts";

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const ANTHROPIC = {
  name: "anthropic",
  title: "Anthropic",
  maker: "anthropic",
  keyVariable: "ANTHROPIC_API_KEY",
  sdk: "@anthropic-ai/sdk",
  hostsPrograms: true,
  takes: {
    minOutputTokens: 1,
    stops: Number.POSITIVE_INFINITY,
    maxTemperature: 1,
    oneCall: true,
    summaries: true,
    whileReasoning: false,
    forcesFound: true,
    forcesHosted: false,
  },
  media: {
    inMessages: [...IMAGES, "application/pdf", "text/*"],
    inResults: [...IMAGES, "application/pdf", "text/*"],
    byUrl: [...IMAGES, "application/pdf"],
  },
  flags: {},
  converse: async (parts) => (await import("../anthropic/conversation.ts")).converseByAnthropic(parts),
} as const satisfies Provider;

const OPENAI_FLAGS = {
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
  takes: {
    minOutputTokens: 16,
    stops: 0,
    maxTemperature: 2,
    oneCall: true,
    summaries: true,
    whileReasoning: true,
    forcesFound: false,
    forcesHosted: true,
  },
  media: {
    inMessages: [...IMAGES, "application/pdf", "text/*"],
    inResults: [...IMAGES, "application/pdf", "text/*"],
    byUrl: [...IMAGES, "application/pdf"],
  },
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
  takes: {
    minOutputTokens: 1,
    stops: 4,
    maxTemperature: 2,
    oneCall: true,
    summaries: false,
    whileReasoning: true,
    forcesFound: true,
    forcesHosted: false,
  },
  media: {
    inMessages: [...IMAGES, "application/pdf"],
    inResults: [...IMAGES, "application/pdf"],
    byUrl: IMAGES,
  },
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
  takes: {
    minOutputTokens: 1,
    stops: 5,
    maxTemperature: 2,
    oneCall: false,
    summaries: true,
    whileReasoning: true,
    forcesFound: true,
    forcesHosted: false,
  },
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
