import { anthropicWire, chatWire, geminiWire, responsesWire } from "../models/wires.ts";
import type { Wire } from "../models/wire.ts";

/** The keys of the providers that tests play. */
export const environment = {
  ANTHROPIC_API_KEY: anthropicWire.key,
  OPENAI_API_KEY: responsesWire.key,
  GEMINI_API_KEY: geminiWire.key,
};

/** A model of each provider as `--model` names it, and the protocol that plays it. */
export const MODELS: readonly [string, Wire][] = [
  ["anthropic:claude-test", anthropicWire],
  ["openai:gpt-test", responsesWire],
  ["openai-chat:gpt-test", chatWire],
  ["gemini:gemini-test", geminiWire],
];
