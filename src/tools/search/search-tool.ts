import { jsonSchema } from "../schema.ts";
import { type CallContext, CALLERS, type Tool } from "../tool.ts";
import { SEARCH_TOOLS } from "../tool-name.ts";

/** Maximum characters of a query. */
export const QUERY_LENGTH = 400;
/** Tools that one search finds, at most and by default. */
export const FOUND_MAX = 25;
export const FOUND_DEFAULT = 5;

export interface SearchInput {
  readonly query: string;
  readonly limit?: number;
}

export const SEARCH_INPUT = {
  type: "object",
  properties: {
    query: {
      type: "string",
      minLength: 1,
      maxLength: QUERY_LENGTH,
      description: "what the tool should do, in a few words: invoices of a customer",
    },
    limit: {
      type: "integer",
      minimum: 1,
      maximum: FOUND_MAX,
      description: `how many tools at most, ${FOUND_DEFAULT} by default`,
    },
  },
  required: ["query"],
  additionalProperties: false,
} as const;

/** The tool whose calls are searches. Each session of a gate has its own. */
export function searchTool(search: (input: SearchInput, context: CallContext) => Promise<unknown>): Tool {
  return {
    name: SEARCH_TOOLS,
    description: "Finds tools by what they do.",
    inputSchema: SEARCH_SCHEMA,
    outputSchema: undefined,
    allowedCallers: CALLERS,
    effect: "read",
    approvable: false,
    needsApproval: () => false,
    concurrency: Infinity,
    timeoutMs: 60_000,
    execute: (input, context) => search(input as SearchInput, context),
    onUnknown: "retry",
  };
}

const SEARCH_SCHEMA = jsonSchema<SearchInput>(SEARCH_INPUT);
