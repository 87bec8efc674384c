import { toolFacts } from "../../../tools/tool-facts.ts";
import { directTokens, FACT_COLUMNS, factCells } from "./tool-facts.ts";
import { printJson, printTable } from "../../terminal/print.ts";
import { writeStdout } from "../../terminal/standard-streams.ts";
import { count, counted } from "../../../output/count-text.ts";
import { declareTools } from "../../../tools/declarations/declarations.ts";
import { countTokens } from "../../../tools/count-tokens.ts";
import { PROVIDERS } from "../../../models/provider/providers.ts";
import { strictProviders } from "../../../models/strict-providers.ts";
import type { Tool } from "../../../tools/tool.ts";
import { inputSchemaOf } from "../../../tools/tool-schemas.ts";
import { ToolSet } from "../../../tools/tool-set.ts";
import { without } from "../../../values/fields.ts";
import { checkTools } from "./check-tools.ts";
import type { CommandOptions, LIST_TOOLS } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { openTools, tellUnassigned } from "../../input/open-tools.ts";
import { checkValue, oneOf } from "../../../option-rules/options.ts";
import { searchTools, showTool } from "./search-tools.ts";

const ACTION = oneOf(["search", "show"]);

/**
 * `portcullis tools`: lists the tools with the tokens of their declarations; `tools search WORDS` and `tools show NAME` look
 * among them. Resolves with the exit code.
 */
export async function listTools(words: readonly string[], options: CommandOptions<typeof LIST_TOOLS>): Promise<number> {
  const [action, ...rest] = words;
  if (action !== undefined) checkValue("tools ACTION", action, ACTION);
  await using open = await openTools(options);
  if (options.check) {
    checkTools(open, options.json === true);
    return EXIT.completed;
  }
  tellUnassigned(open, options);
  const tools = new ToolSet(open.tools);
  if (action === "search") return searchTools(tools, rest.join(" "), options);
  if (action === "show") return showTool(tools, rest.join(" "), options);
  if (options.stubs) {
    writeStdout(`${declareTools(tools.visibleTo(["programmatic"]))}\n`);
    return EXIT.completed;
  }
  const rows = tools.all.map((tool) => ({
    ...toolFacts(tool),
    strict: tool.allowedCallers.includes("direct") ? strictOf(tool) : undefined,
    jsonTokens: tool.allowedCallers.includes("direct") ? directTokens(tool) : undefined,
    stubTokens: tool.allowedCallers.includes("programmatic") ? countTokens(declareTools([tool])) : undefined,
  }));
  if (options.json) {
    printJson(rows);
    return EXIT.completed;
  }
  const sum = (tokens: readonly (number | undefined)[]) => tokens.reduce<number>((all, one) => all + (one ?? 0), 0);
  const cells = rows.map((row) => [
    ...factCells(row),
    strictText(row.strict),
    tokensText(row.jsonTokens),
    tokensText(row.stubTokens),
  ]);
  const total = [
    counted(rows.length, "tool"),
    "",
    "",
    "",
    "",
    "",
    count(sum(rows.map((row) => row.jsonTokens))),
    count(sum(rows.map((row) => row.stubTokens))),
  ];
  const tokens = ["tokens as JSON", "tokens as stub"];
  printTable([...FACT_COLUMNS, "strict", ...tokens], [...cells, total], tokens);
  return EXIT.completed;
}

/** The providers that can hold direct calls to the schema. */
function strictOf(tool: Tool): readonly string[] {
  return strictProviders(without(inputSchemaOf(tool), "$schema"));
}

function strictText(providers: readonly string[] | undefined): string {
  if (providers === undefined) return "–";
  return providers.length === PROVIDERS.size ? "all" : providers.join(", ");
}

function tokensText(tokens: number | undefined): string {
  return tokens === undefined ? "–" : count(tokens);
}
