import { inputChanges } from "../../../models/input-changes.ts";
import { cleanText, count, countText } from "../../../base/index.ts";
import { countTokens } from "../../../tools/count-tokens.ts";
import { declareTools } from "../../../tools/declarations/declarations.ts";
import { FOUND_DEFAULT, ToolSearch } from "../../../tools/search/index.ts";
import { toolFacts } from "../../../tools/tool-facts.ts";
import type { Tool } from "../../../tools/tool.ts";
import { inputSchemaOf } from "../../../tools/tool-schemas.ts";
import { ToolSet } from "../../../tools/tool-set.ts";
import type { CommandOptions, LIST_TOOLS } from "../../command-options.ts";
import { openTools, tellUnassigned, type OpenTools } from "../../input/open-tools.ts";
import { printJson, printTable, table, writeStdout, oneLine } from "../../terminal/standard-streams.ts";
import type { UnassignedTool } from "../../../sources/mcp/make-tools.ts";

/**
 * `portcullis tools`: lists the tools with the tokens of their declarations; or those that a program finds by words, the best
 * first.
 */
export async function runListTools(
  words: readonly string[],
  options: CommandOptions<typeof LIST_TOOLS>,
): Promise<void> {
  await using open = await openTools(options);
  if (options.check) return checkTools(open, options.json);
  tellUnassigned(open, options);
  const tools = new ToolSet(open.tools);
  const query = words.join(" ").trim();
  if (query !== "") await searchTools(tools, query, options);
  else if (options.stubs) writeStdout(`${declareTools(tools.visibleTo(["programmatic"]))}\n`);
  else printTools(tools.all, options);
}

async function searchTools(tools: ToolSet, query: string, { json }: CommandOptions<typeof LIST_TOOLS>): Promise<void> {
  const asked = { query, limit: FOUND_DEFAULT, tenant: "", caller: "programmatic", language: "javascript" } as const;
  const found = await new ToolSearch(tools).find(asked);
  const text = ({ name, stub, description }: (typeof found)[number]) =>
    cleanText(`${name}\n  ${stub}\n  ${description}`);
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
      /** In the form that providers take for direct calls. */
      jsonTokens: allowedCallers.includes("direct")
        ? countTokens(JSON.stringify({ name, description, input_schema: schema }))
        : undefined,
      stubTokens: allowedCallers.includes("programmatic") ? countTokens(declareTools([tool])) : undefined,
    };
  });
  if (json) return printJson(rows);
  const text = (tokens: number | undefined) => (tokens === undefined ? "–" : count(tokens));
  const cells = rows.map(({ jsonTokens, stubTokens, ...row }) => {
    const facts = [row.name, row.allowedCallers.join(", "), row.effect, row.approval, row.place];
    return [...facts, text(jsonTokens), text(stubTokens)];
  });
  const sumOf = (name: "jsonTokens" | "stubTokens") => count(rows.reduce((sum, row) => sum + (row[name] ?? 0), 0));
  const total = [countText(rows.length, "tool"), "", "", "", "", sumOf("jsonTokens"), sumOf("stubTokens")];
  const tokens = ["tokens as JSON", "tokens as stub"];
  printTable(["tool", "callers", "effect", "approval", "runs", ...tokens], [...cells, total], tokens);
}

/**
 * `portcullis tools --check`: lists the MCP servers, and the tools of servers that no caller may call, each with the line to add, what could
 * not be taken over, and of which inputs models are told otherwise.
 */
function checkTools({ tools, problems, sources, unassigned: found }: OpenTools, json: boolean | undefined): void {
  const servers = sources.flatMap(({ name: source, server }) => (server ? [{ source, ...server }] : []));
  // How many operations of a document are tools, and how many could not be or are of no caller.
  const documents = sources.flatMap(({ name: source, tools: { length: toolCount }, names, leftOut }) => {
    if (leftOut === undefined) return [];
    const operations = names!.length;
    return [{ source, operations, leftOut, tools: toolCount, withoutCaller: operations - leftOut - toolCount }];
  });
  const unassigned = found.map(unassignedLine);
  const inputs = tools.flatMap((tool) => {
    const { $schema: _, ...schema } = inputSchemaOf(tool);
    return inputChanges(schema).map((change) => ({ tool: tool.name, ...change }));
  });
  if (json)
    return printJson({ tools: tools.map(({ name }) => name), servers, documents, unassigned, problems, inputs });
  printRows(
    "",
    ["server", "protocol", "calls itself", "version"],
    servers.map(({ source, protocol = "–", name = "–", version = "–" }) => [source, protocol, name, version]),
  );
  const numbers = ["operations", "tools", "no caller", "left out"];
  const counts = documents.map(({ source, operations, tools: toolCount, withoutCaller, leftOut }) => [
    source,
    ...[operations, toolCount, withoutCaller, leftOut].map(count),
  ]);
  printRows("", ["document", ...numbers], counts, numbers);
  writeStdout(`${countText(tools.length, "tool")} may be called.\n\n`);
  printRows(
    'No caller may call these, because nothing is said about them. Check the effect, and add the line under\n"portcullis": { "tools": { … } } of the server, or the option:\n\n',
    ["tool", "its server says", "line", "option"],
    unassigned.map(Object.values<string>),
  );
  if (problems.length > 0)
    writeStdout(`Left out, or not checked:\n${problems.map((problem) => `  ${oneLine(problem)}`).join("\n")}\n\n`);
  printRows(
    "Providers are told of these inputs otherwise than their schemas say, by which calls are checked:\n\n",
    ["tool", "provider", "told"],
    inputs.map(({ tool, providers, told: change }) => [tool, providers.join(", "), change]),
  );
}

/** Prints a table behind what is said of it, with an empty line after it, if it has rows. */
function printRows(intro: string, ...of: Parameters<typeof table>): void {
  if (of[1].length > 0) writeStdout(`${intro}${table(...of)}\n\n`);
}

/** A tool that no caller may call, with what its server says, which may be wrong, and with what lets programs call it. */
function unassignedLine({ name, original, annotations }: UnassignedTool) {
  const { readOnlyHint, idempotentHint, destructiveHint } = annotations;
  const [effect, claim] =
    readOnlyHint === true && destructiveHint !== true
      ? ["read", "reads"]
      : idempotentHint === true
        ? ["idempotent", "may be repeated"]
        : ["write", "–"];
  const hint = destructiveHint === true ? "destroys" : claim;
  const approval = effect === "read" ? "" : ', "approval": "always"';
  const line = `${JSON.stringify(original)}: { "allowedCallers": ["programmatic"], "effect": "${effect}"${approval} }`;
  return { name, hint, line, allow: `--allow ${name}=${effect}` };
}
