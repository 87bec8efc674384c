import { readFileSync } from "node:fs";
import { anthropicWire } from "./anthropic/wire.ts";
import { geminiWire } from "./gemini/wire.ts";
import { chatWire } from "./openai/chat/wire.ts";
import { responsesWire } from "./openai/responses/wire.ts";
import type { Wire } from "./wire.ts";

export { anthropicWire, chatWire, geminiWire, responsesWire };

/** The protocols of all providers. */
export const WIRES: readonly (readonly [name: string, wire: Wire])[] = [
  ["Anthropic Messages", anthropicWire],
  ["OpenAI Responses", responsesWire],
  ["OpenAI Chat Completions", chatWire],
  ["Gemini", geminiWire],
];

/** Each of them, streamed and in one piece. */
export const EACH_WAY = WIRES.flatMap(([name, wire]) => [
  [`${name}, streamed`, wire, true] as const,
  [`${name}, in one piece`, wire, false] as const,
]);

/** The rows of the table of docs/models.md that begins with this word. */
export function rowsOf(word: string): readonly string[][] {
  const document = readFileSync(new URL("../../docs/models.md", import.meta.url), "utf8");
  const [, table = ""] = new RegExp(`^(\\| +${word}[^]*?)\\n\\n`, "m").exec(document) ?? [];
  return table
    .split("\n")
    .map((line) => line.split("|").slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
}
