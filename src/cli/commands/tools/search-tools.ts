import { toolFacts } from "../../../tools/tool-facts.ts";
import { PortcullisError } from "../../../errors.ts";
import { nearest } from "../../../option-rules/nearest.ts";
import { cleanText } from "../../../output/clean-text.ts";
import { FOUND_DEFAULT, FOUND_MAX } from "../../../tools/search/search-tool.ts";
import { ToolSearch, type FoundTool } from "../../../tools/search/tool-search.ts";
import { toolStub } from "../../../tools/search/tool-stub.ts";
import type { Tool } from "../../../tools/tool.ts";
import { inputSchemaOf, jsonSchemaOf } from "../../../tools/tool-schemas.ts";
import type { ToolSet } from "../../../tools/tool-set.ts";
import { wholeNumber } from "../../../option-rules/options.ts";
import type { CommandOptions, LIST_TOOLS } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { whole } from "../../input/option-values.ts";
import { printJson } from "../../terminal/print.ts";
import { writeStdout } from "../../terminal/standard-streams.ts";

const LIMIT = wholeNumber({ min: 1, max: FOUND_MAX, default: FOUND_DEFAULT });

/** `portcullis tools search WORDS`: the tools that a program would find, the best first. Resolves with the exit code. */
export async function searchTools(
  tools: ToolSet,
  words: string,
  options: CommandOptions<typeof LIST_TOOLS>,
): Promise<number> {
  if (words.trim() === "")
    throw new PortcullisError(
      "option_invalid",
      "tools search: say what the tool should do, like: tools search invoices of a customer",
    );
  const limit = options.limit === undefined ? LIMIT.default : whole(LIMIT)("--limit", options.limit);
  const found = await new ToolSearch(tools).find({
    query: words,
    limit,
    tenant: "",
    caller: "programmatic",
    language: "javascript",
  });
  if (options.json) printJson(found);
  else
    writeStdout(
      found.length === 0 ? "No tool for programs fits. Try other words.\n" : `${found.map(textOf).join("\n")}\n`,
    );
  return EXIT.completed;
}

function textOf({ name, stub, description }: FoundTool): string {
  return cleanText(`${name}\n  ${stub}\n  ${description}`);
}

/** `portcullis tools show NAME`: all that is known of a tool. Returns the exit code. */
export function showTool(tools: ToolSet, name: string, { json }: CommandOptions<typeof LIST_TOOLS>): number {
  const tool = tools.get(name);
  if (!tool) throw noTool(tools, name);
  const facts = factsOf(tool);
  const ofItem = facts.stream ? " (of one item)" : "";
  const lines = [
    facts.name,
    `callers:  ${facts.callers.join(", ")}`,
    `effect:   ${facts.effect}`,
    `approval: ${facts.approval}`,
    ...(facts.stub === undefined ? [] : [`stub:     ${facts.stub}`]),
    ...(facts.stream ? ["result:   a stream of items; a direct caller gets them as one array"] : []),
    "",
    facts.description,
    "",
    `input: ${JSON.stringify(facts.input, undefined, 2)}`,
    ...(facts.output === undefined ? [] : [`output${ofItem}: ${JSON.stringify(facts.output, undefined, 2)}`]),
  ];
  if (json) printJson(facts);
  else writeStdout(`${lines.join("\n")}\n`);
  return EXIT.completed;
}

function factsOf(tool: Tool) {
  const { description, allowedCallers, output, stream } = tool;
  const { name, ...facts } = toolFacts(tool);
  return {
    name,
    description,
    ...facts,
    stub: allowedCallers.includes("programmatic") ? toolStub(tool, "javascript") : undefined,
    stream,
    input: inputSchemaOf(tool),
    output: output === undefined ? undefined : jsonSchemaOf(name, "output", output),
  };
}

function noTool(tools: ToolSet, name: string): PortcullisError {
  const meant = nearest(
    name,
    tools.all.map((tool) => tool.name),
  );
  const hint = meant.length === 0 ? "Search for it by tools search WORDS." : `Did you mean ${meant.join(" or ")}?`;
  return new PortcullisError("option_invalid", `tools show: there is no tool ${JSON.stringify(name)}. ${hint}`);
}
