import { z } from "zod";
import type { SchemaType } from "../base/index.ts";
import { objectSchema } from "../base/values/object-schema.ts";

const count = z.number().nonnegative();

export const TOKEN_USAGE = objectSchema({
  /** All input tokens, cached ones included. */
  inputTokens: count,
  outputTokens: count,
  cachedInputTokens: count,
});

/** Tokens, as providers count them. */
export type TokenUsage = SchemaType<typeof TOKEN_USAGE>;
