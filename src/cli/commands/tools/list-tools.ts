import { PROVIDERS } from "../../../models/provider/providers.ts";
import { strictProviders } from "../../../models/strict-providers.ts";
import { cleanText, count, counted } from "../../../base/index.ts";
import { countTokens } from "../../../tools/count-tokens.ts";
import { declareTools } from "../../../tools/declarations/declarations.ts";
import { FOUND_DEFAULT, type FoundTool, ToolSearch } from "../../../tools/search/index.ts";
import { toolFacts } from "../../../tools/tool-facts.ts";
import type { Tool } from "../../../tools/tool.ts";
import { inputSchemaOf } from "../../../tools/tool-schemas.ts";
import { ToolSet } from "../../../tools/tool-set.ts";
import type { CommandOptions, LIST_TOOLS } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { openTools, tellUnassigned } from "../../input/open-tools.ts";
import { printJson, printTable } from "../../terminal/print.ts";
import { writeStdout } from "../../terminal/standard-streams.ts";
import { checkTools } from "./check-tools.ts";

/**
 * `portcullis tools`: lists the tools with the tokens of their declarations; or those that a program finds by words, the best
 * first. Resolves with the exit code.
 */
export async function listTools(words: readonly string[], options: CommandOptions<typeof LIST_TOOLS>): Promise<number> {
  await using open = await openTools(options);
  if (options.check) {
    checkTools(open, options.json === true);
    return EXIT.completed;
  }
  tellUnassigned(open, options);
  const tools = new ToolSet(open.tools);
  const query = words.join(" ").trim();
  if (query !== "") await searchTools(tools, query, options);
  else if (options.stubs) writeStdout(`${declareTools(tools.visibleTo(["programmatic"]))}\n`);
  else printTools(tools.all, options);
  return EXIT.completed;
}

async function searchTools(tools: ToolSet, query: string, { json }: CommandOptions<typeof LIST_TOOLS>): Promise<void> {
  const asked = { query, limit: FOUND_DEFAULT, tenant: "", caller: "programmatic", language: "javascript" } as const;
  const found = await new ToolSearch(tools).find(asked);
  const text = ({ name, stub, description }: FoundTool) => cleanText(`${name}\n  ${stub}\n  ${description}`);
  if (json) printJson(found);
  else if (found.length === 0) writeStdout("No tool for programs fits. Try other words.\n");
  else writeStdout(`${found.map(text).join("\n")}\n`);
}

function printTools(tools: readonly Tool[], { json }: CommandOptions<typeof LIST_TOOLS>): void {
  const rows = tools.map((tool) => {
    const { $schema: _, ...schema } = inputSchemaOf(tool);
    const { name, description, allowedCallers } = tool;
    return {
      ...toolFacts(tool),
      ...(allowedCallers.includes("direct") && {
        /** The providers that can hold direct calls to the schema. */
        strict: strictProviders(schema),
        /** In the form that providers take for direct calls. */
        jsonTokens: countTokens(JSON.stringify({ name, description, input_schema: schema })),
      }),
      ...(allowedCallers.includes("programmatic") && { stubTokens: countTokens(declareTools([tool])) }),
    };
  });
  if (json) return printJson(rows);
  const text = (tokens: number | undefined) => (tokens === undefined ? "–" : count(tokens));
  const cells = rows.map(({ name, callers, effect, approval, place, strict, jsonTokens, stubTokens }) => [
    name,
    callers.join(", "),
    effect,
    approval,
    place,
    strict === undefined ? "–" : strict.length === PROVIDERS.size ? "all" : strict.join(", "),
    text(jsonTokens),
    text(stubTokens),
  ]);
  const sumOf = (name: "jsonTokens" | "stubTokens") => count(rows.reduce((sum, row) => sum + (row[name] ?? 0), 0));
  const total = [counted(rows.length, "tool"), "", "", "", "", "", sumOf("jsonTokens"), sumOf("stubTokens")];
  const tokens = ["tokens as JSON", "tokens as stub"];
  printTable(["tool", "callers", "effect", "approval", "runs", "strict", ...tokens], [...cells, total], tokens);
}
