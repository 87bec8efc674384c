import { PortcullisError } from "../../errors.ts";
import { type ProviderName, PROVIDERS } from "../../models/provider/providers.ts";
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

/** Whether the package of a provider's SDK, which the adapter of its wire loads, is installed. */
function isInstalled({ provider }: Wire): boolean {
  try {
    import.meta.resolve(PROVIDERS.get(provider)?.sdk ?? "");
    return true;
  } catch {
    return false;
  }
}

/** The wires that can be measured here. Throws `model_unavailable` if there is none. */
export function installedWires(): readonly Wire[] {
  const installed = [...WIRES.values()].filter(isInstalled);
  if (installed.length > 0) return installed;
  const sdks = [...new Set([...PROVIDERS.values()].map(({ sdk }) => sdk))];
  throw new PortcullisError(
    "model_unavailable",
    `A comparison counts the tokens of the requests that a provider's SDK makes, and no SDK is installed: npm install ${EXACT_SDK} (or ${sdks.filter((sdk) => sdk !== EXACT_SDK).join(", ")}).`,
  );
}

/** The wires whose SDK is not installed. */
export function missingWires(): readonly Wire[] {
  return [...WIRES.values()].filter((wire) => !isInstalled(wire));
}

/** The SDK of the wires whose tokens are counted exactly. */
const EXACT_SDK = "openai";

/** One wire for each provider, by its name. */
export const WIRES: ReadonlyMap<string, Wire> = new Map(
  [...PROVIDERS.values()].map(({ name }) => [name, BY_PROVIDER[name]]),
);
