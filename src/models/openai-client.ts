import { boundedFetch } from "./bounded-fetch.ts";
import { loadSdk, type ResolvedOptions } from "./provider-options.ts";

export const OPENAI_KEY = "OPENAI_API_KEY";

export type OpenAiClient = InstanceType<(typeof import("openai"))["default"]>;

/** The official client, told what it would otherwise take from the environment, but for headers of all its requests. */
export async function openAiClient(options: ResolvedOptions): Promise<OpenAiClient> {
  const { apiKey, baseUrl, retries, timeoutMs } = options;
  const { default: OpenAI } = await loadSdk("openai", () => import("openai"));
  return new OpenAI({
    apiKey,
    adminAPIKey: null,
    organization: null,
    project: null,
    baseURL: versioned(baseUrl ?? "https://api.openai.com"),
    maxRetries: retries,
    timeout: timeoutMs,
    fetch: boundedFetch(options),
    logLevel: "off",
  });
}

/** A bare origin gets the path that all these servers have; whoever gives a path knows better. */
function versioned(baseUrl: string): string {
  const url = new URL(baseUrl);
  return url.pathname === "/" ? `${url.origin}/v1` : baseUrl.replace(/\/+$/, "");
}
