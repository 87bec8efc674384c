import { anthropicWire } from "./anthropic/wire.ts";
import { interactionsWire } from "./gemini/interactions/wire.ts";
import { geminiWire } from "./gemini/wire.ts";
import { chatWire } from "./openai/chat/wire.ts";
import { responsesWire } from "./openai/responses/wire.ts";
import type { Wire } from "./wire.ts";

/** The two protocols of Gemini. */
export const OF_GEMINI: readonly Wire[] = [geminiWire, interactionsWire];

/** The protocols of all providers. */
export const WIRES: readonly (readonly [name: string, wire: Wire])[] = [
  ["Anthropic Messages", anthropicWire],
  ["OpenAI Responses", responsesWire],
  ["OpenAI Chat Completions", chatWire],
  ["Gemini", geminiWire],
  ["Gemini Interactions", interactionsWire],
];
