import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { AgentOptions } from "../../agent/agent-options.ts";
import { SETTINGS_RULES } from "../../models/settings.ts";
import { PortcullisError, optionError } from "../../errors.ts";
import type { ProviderOptions } from "../../models/provider/provider-options.ts";
import { given } from "../../option-rules/given.ts";
import { checkValue } from "../../option-rules/options.ts";
import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import { jsonSchema } from "../../tools/schema.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { loadModel } from "./load-model.ts";
import { parseWhole } from "./option-values.ts";

/** Flags about how a model is asked. */
export interface ConversationFlags {
  readonly instructions?: string;
  readonly context?: readonly string[];
  readonly toolChoice?: string;
  readonly parallelCalls?: boolean;
  readonly reasoning?: string;
  readonly maxOutputTokens?: string;
  readonly fallback?: readonly string[];
  readonly answer?: string;
}

type Chosen = Partial<AgentOptions<unknown, unknown>>;

/** The options that these flags stand for. Throws `option_invalid`, naming the flag, and a `Failure` for a file that cannot be read. */
export async function conversationOptions(
  flags: ConversationFlags,
  models: Omit<ProviderOptions, "model">,
): Promise<Chosen> {
  const { instructions, context = [], toolChoice, parallelCalls, reasoning, maxOutputTokens, fallback = [] } = flags;
  const documents = await Promise.all(
    context.map(async (path) => ({ name: basename(path), text: await textOf("--context", path) })),
  );
  return {
    ...(instructions === undefined ? {} : { instructions: await textOf("--instructions", instructions) }),
    ...(documents.length === 0 ? {} : { documents }),
    ...(parallelCalls === false ? { parallelCalls } : {}),
    ...given({
      toolChoice: toolChoice === undefined ? undefined : toolChoiceOf(toolChoice),
      reasoning: reasoning === undefined ? undefined : reasoningOf(reasoning),
      maxOutputTokens: parseWhole("--max-output-tokens", maxOutputTokens, SETTINGS_RULES.maxOutputTokens),
    }),
    ...(fallback.length === 0
      ? {}
      : { fallbacks: await Promise.all(fallback.map((text) => loadModel(text, models, "--fallback"))) }),
    ...(flags.answer === undefined ? {} : { answer: jsonSchema(await schemaIn(flags.answer)) }),
  };
}

/** The option's own words, or else the name of a tool. */
function toolChoiceOf(text: string): NonNullable<Chosen["toolChoice"]> {
  if (text === "auto" || text === "none" || text === "required") return text;
  if (text.trim() === "") throw optionError("--tool-choice", "auto, none, required, or the name of a tool", text);
  return { tool: text };
}

function reasoningOf(text: string): NonNullable<Chosen["reasoning"]> {
  const chosen = { effort: text as "low" };
  if (!SETTINGS_RULES.reasoning.accepts(chosen)) throw optionError("--reasoning", "low, medium or high", text);
  checkValue("--reasoning", chosen, SETTINGS_RULES.reasoning);
  return chosen;
}

async function textOf(flag: string, path: string): Promise<string> {
  try {
    const text = await readFile(path, "utf8");
    if (text.trim() !== "") return text;
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new Failure(EXIT.usage, `${flag}: ${path} cannot be read: ${why}.`);
  }
  throw new Failure(EXIT.usage, `${flag}: ${path} is empty.`);
}

async function schemaIn(path: string): Promise<JsonSchema> {
  const text = await textOf("--answer", path);
  try {
    return JSON.parse(text) as JsonSchema;
  } catch (cause) {
    throw new PortcullisError("option_invalid", `--answer: ${path} is no JSON.`, { cause });
  }
}
