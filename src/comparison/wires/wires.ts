import { anthropicWire } from "./anthropic-wire.ts";
import { geminiWire } from "./gemini-wire.ts";
import { openaiChatWire } from "./openai-chat-wire.ts";
import { openaiWire } from "./openai-wire.ts";
import type { Wire } from "./wire.ts";

/** All wires by the name of their provider. */
export const WIRES: ReadonlyMap<string, Wire> = new Map(
  [anthropicWire, openaiWire, openaiChatWire, geminiWire].map((wire) => [wire.provider, wire]),
);
