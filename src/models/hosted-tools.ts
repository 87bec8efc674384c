import { isFields, option, type OptionRule, type OptionsOf, readOptions, wholeNumber } from "../base/index.ts";

/** A tool that the provider itself runs. */
export interface HostedTool extends OptionsOf<typeof WEB_SEARCH_RULES> {
  readonly type: "web_search";
}

/** What a provider's own search of the web can be told. A provider that has no search lists nothing. */
export type SearchBounds = readonly (keyof typeof WEB_SEARCH_RULES)[];

const MAX_DOMAINS = 100;

export const WEB_SEARCH_RULES = {
  /** Domains whose pages alone are found, like `docs.example.com`, with those below them. All by default. Not for Gemini. */
  allowedDomains: option<readonly string[]>(
    `an array of 1 to ${MAX_DOMAINS} domains, like "docs.example.com"`,
    (value) => Array.isArray(value) && value.length > 0 && value.length <= MAX_DOMAINS && value.every(isDomain),
  ),
  /** Searches at most: Anthropic counts them in a request, OpenAI in a response. Unlimited by default. Not for Gemini. */
  maxUses: wholeNumber({ min: 1, max: 1000 }),
};

/** The provider's own search of the web, for `hostedTools`. */
export function webSearch(options: OptionsOf<typeof WEB_SEARCH_RULES> = {}): HostedTool {
  const { allowedDomains, ...read } = readOptions("webSearch", options, WEB_SEARCH_RULES);
  return Object.freeze({
    type: "web_search",
    ...read,
    ...(allowedDomains && { allowedDomains: Object.freeze([...allowedDomains]) }),
  });
}

export const HOSTED_TOOLS: OptionRule<readonly HostedTool[], "optional"> = option<readonly HostedTool[]>(
  "an array of tools made by webSearch, each kind once",
  areHostedTools,
);

/** The search among hosted tools; undefined if there is none. */
export function searchOf({ hostedTools = [] }: { readonly hostedTools?: readonly HostedTool[] }) {
  return hostedTools.find(({ type }) => type === "web_search");
}

/** What keeps a provider from taking these tools, as a part of a sentence; undefined if nothing does. */
export function hostedRefusal(tools: readonly HostedTool[], searches: SearchBounds | undefined): string | undefined {
  const search = searchOf({ hostedTools: tools });
  if (!search) return undefined;
  if (!searches) return "it has no search of its own";
  const refused = (["allowedDomains", "maxUses"] as const).find(
    (bound) => search[bound] !== undefined && !searches.includes(bound),
  );
  return refused && `its search takes no ${refused}`;
}

function areHostedTools(tools: unknown): boolean {
  if (!Array.isArray(tools)) return false;
  return tools.length === new Set(tools.map((tool) => isFields(tool) && tool.type)).size && tools.every(isHostedTool);
}

function isHostedTool(tool: unknown): boolean {
  if (!isFields(tool) || tool.type !== "web_search") return false;
  const { type: _, ...bounds } = tool;
  return Object.entries(bounds).every(
    ([name, value]) =>
      Object.hasOwn(WEB_SEARCH_RULES, name) &&
      (value === undefined || WEB_SEARCH_RULES[name as keyof typeof WEB_SEARCH_RULES].accepts(value)),
  );
}

function isDomain(value: unknown): boolean {
  if (typeof value !== "string" || value.length > 253) return false;
  const labels = value.split(".");
  return labels.length > 1 && labels.every((label) => /^[a-z0-9-]{1,63}$/i.test(label));
}
