import { boundedFetch } from "../../models/provider/bounded-fetch.ts";

/** Time of one turn, in milliseconds. */
const REPLY_MS = 600_000;

/** A `fetch` that records the usage of every reply, in the provider's own form. */
export function recordUsage() {
  const usages: unknown[] = [];
  const bounded = boundedFetch({ timeoutMs: REPLY_MS, stream: false, fetch: globalThis.fetch });
  return {
    /** One entry per reply, in order; `null` if a reply has no usage. */
    usages,
    fetch: async (...request: Parameters<typeof fetch>): Promise<Response> => {
      const response = await bounded(...request);
      if (!response.ok) return response;
      const text = await response.text();
      usages.push(usageIn(text));
      const { status, statusText, headers } = response;
      return new Response(text, { status, statusText, headers });
    },
  };
}

function usageIn(text: string): unknown {
  try {
    const { usage, usageMetadata } = JSON.parse(text) as { readonly usage?: unknown; readonly usageMetadata?: unknown };
    return usage ?? usageMetadata ?? null;
  } catch {
    return null;
  }
}
