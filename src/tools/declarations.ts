import { optionError, PortcullisError } from "../errors.ts";
import { countTokens } from "./count-tokens.ts";
import { jsonSchemaOf } from "./define-tool.ts";
import type { Tool } from "./tool.ts";
import { oneLine, typeText } from "./type-text.ts";

export interface DeclarationOptions {
  /** Language of the programs; JavaScript programs are declared in TypeScript. */
  readonly language?: "javascript";
  /** Most tokens that the declarations may take; 4,000 by default. */
  readonly budgetTokens?: number;
}

interface Detail {
  readonly toolDescription: number;
  readonly propertyDescription: number;
  readonly depth: number;
  /** Said at the top where something was left out. */
  readonly leftOut?: string;
}

/** From all there is to the least that still can be called. The first that fits the budget is used. */
const DETAILS: readonly Detail[] = [
  { toolDescription: 1000, propertyDescription: 200, depth: 8 },
  { toolDescription: 160, propertyDescription: 60, depth: 8, leftOut: "Descriptions are shortened." },
  {
    toolDescription: 80,
    propertyDescription: 0,
    depth: 8,
    leftOut: "Descriptions are shortened; those of fields are left out.",
  },
  {
    toolDescription: 60,
    propertyDescription: 0,
    depth: 2,
    leftOut: "Descriptions are shortened, and deeper parts of types are left out.",
  },
  { toolDescription: 0, propertyDescription: 0, depth: 1, leftOut: "Descriptions and parts of types are left out." },
];

/**
 * Typed stubs of tools for a model to read: one line a tool, with its input's and its result's type. Where they
 * do not fit the budget, detail is left out evenly, and the first line says in plain words what is missing.
 */
export function declareTools(tools: readonly Tool[], options: DeclarationOptions = {}): string {
  if (typeof options !== "object" || options === null) throw optionError("declarations(options)", "an object", options);
  const { language = "javascript", budgetTokens = 4000, ...others } = options;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new PortcullisError(
      "option_invalid",
      `declarations: there is no option ${JSON.stringify(unknown)}. The options are language, budgetTokens.`,
    );
  if (language !== "javascript") throw optionError("declarations({ language })", `"javascript"`, language);
  if (!Number.isSafeInteger(budgetTokens) || budgetTokens < 1)
    throw optionError("declarations({ budgetTokens })", "a whole number from 1", budgetTokens);
  for (const detail of DETAILS) {
    const text = joinLines(
      detail.leftOut,
      tools.map((tool) => declare(tool, detail)),
    );
    if (countTokens(text) <= budgetTokens) return text;
  }
  return namesOnly(tools, budgetTokens);
}

function declare(tool: Tool, { toolDescription, propertyDescription, depth }: Detail): string {
  const options = { descriptionLength: propertyDescription, depth };
  const input = typeText(jsonSchemaOf(tool.name, "input", tool.input), options);
  const result =
    tool.output === undefined ? "unknown" : typeText(jsonSchemaOf(tool.name, "output", tool.output), options);
  const description = oneLine(tool.description, toolDescription);
  return `tools.${tool.name}(input: ${input}): Promise<${result}>${toolDescription === 0 ? "" : ` // ${description}`}`;
}

function namesOnly(tools: readonly Tool[], budgetTokens: number): string {
  const names = tools.map((tool) => `tools.${tool.name}(input)`);
  let kept = names.length;
  for (;;) {
    const missing = names.length - kept;
    const leftOut = `Types and descriptions are left out${missing === 0 ? "" : `, and so are ${missing} of ${names.length} tools`}: the budget of ${budgetTokens} tokens has no room for them.`;
    const text = joinLines(leftOut, names.slice(0, kept));
    if (kept === 0 || countTokens(text) <= budgetTokens) return text;
    kept = Math.floor(kept * 0.9);
  }
}

function joinLines(leftOut: string | undefined, lines: readonly string[]): string {
  return [...(leftOut === undefined ? [] : [`// ${leftOut}`]), ...lines].join("\n");
}
