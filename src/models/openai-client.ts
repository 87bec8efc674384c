import { loadSdk, type ResolvedOptions } from "./provider-options.ts";
import { NO_TIMEOUT_MS, type ProviderRequests } from "./provider-requests.ts";

export const OPENAI_KEY = "OPENAI_API_KEY";

export type OpenAiClient = InstanceType<(typeof import("openai"))["default"]>;

/** The official client, told what it would otherwise take from the environment, but for headers of all its requests. */
export async function openAiClient(
  { apiKey, baseUrl }: ResolvedOptions,
  { fetch }: ProviderRequests,
): Promise<OpenAiClient> {
  const { default: OpenAI } = await loadSdk("openai", () => import("openai"));
  return new OpenAI({
    apiKey,
    adminAPIKey: null,
    organization: null,
    project: null,
    baseURL: versioned(baseUrl ?? "https://api.openai.com"),
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    fetch,
    logLevel: "off",
  });
}

/** A bare origin gets the path that all these servers have; whoever gives a path knows better. */
function versioned(baseUrl: string): string {
  const url = new URL(baseUrl);
  return url.pathname === "/" ? `${url.origin}/v1` : baseUrl.replace(/\/+$/, "");
}
