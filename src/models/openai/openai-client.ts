import type { ConversationParts } from "../provider/provider-conversation.ts";
import { loadSdk } from "../provider/provider-options.ts";
import { NO_TIMEOUT_MS } from "../provider/provider-requests.ts";

export type OpenAiClient = InstanceType<(typeof import("openai"))["default"]>;

/** The SDK's client, for both protocols of OpenAI. What it would read from the environment, besides default headers, is set here. */
export async function openOpenAiClient({ options, requests }: ConversationParts): Promise<OpenAiClient> {
  const { default: OpenAI } = await loadSdk("openai", () => import("openai"));
  return new OpenAI({
    apiKey: options.apiKey,
    adminAPIKey: null,
    organization: null,
    project: null,
    baseURL: withVersion(options.baseUrl ?? "https://api.openai.com"),
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    fetch: requests.fetch,
    logLevel: "off",
  });
}

/** Adds `/v1` to a bare origin, as compatible servers need. A URL with a path stays as it is. */
function withVersion(baseUrl: string): string {
  const url = new URL(baseUrl);
  return url.pathname === "/" ? `${url.origin}/v1` : baseUrl.replace(/\/+$/, "");
}
