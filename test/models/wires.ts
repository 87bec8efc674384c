import { anthropicWire } from "./anthropic/wire.ts";
import { geminiWire } from "./gemini/wire.ts";
import { chatWire } from "./openai/chat/wire.ts";
import { responsesWire } from "./openai/responses/wire.ts";
import type { Wire } from "./wire.ts";

/** The protocols of all providers. */
export const WIRES: readonly (readonly [name: string, wire: Wire])[] = [
  ["Anthropic Messages", anthropicWire],
  ["OpenAI Responses", responsesWire],
  ["OpenAI Chat Completions", chatWire],
  ["Gemini", geminiWire],
];
