import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { AgentOptions } from "../../agent/agent-options.ts";
import { PortcullisError } from "../../errors.ts";
import type { ProviderOptions } from "../../models/provider/provider-options.ts";
import { given } from "../../option-rules/given.ts";
import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import { jsonSchema } from "../../tools/schema.ts";
import type { CommandOptions, ASK } from "../command-options.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { loadModel } from "./load-model.ts";

type Chosen = Partial<AgentOptions<unknown, unknown>>;

/** The options that these flags stand for. Throws `option_invalid`, naming the flag, and a `Failure` for a file that cannot be read. */
export async function conversationOptions(
  flags: CommandOptions<typeof ASK>,
  models: Omit<ProviderOptions, "model">,
): Promise<Chosen> {
  const { instructions, context, toolChoice, parallelCalls, reasoning: effort, maxOutputTokens, fallback } = flags;
  const documents = await Promise.all(
    context.map(async (path) => ({ name: basename(path), text: await textOf("--context", path) })),
  );
  return {
    ...(instructions === undefined ? {} : { instructions: await textOf("--instructions", instructions) }),
    ...(documents.length === 0 ? {} : { documents }),
    ...(parallelCalls ? {} : { parallelCalls }),
    ...given({ toolChoice, reasoning: effort && { effort }, maxOutputTokens }),
    ...(fallback.length === 0
      ? {}
      : { fallbacks: await Promise.all(fallback.map((text) => loadModel(text, models, "--fallback"))) }),
    ...(flags.answer === undefined ? {} : { answer: jsonSchema(await schemaIn(flags.answer)) }),
  };
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
