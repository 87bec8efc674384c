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
import { EXIT } from "../../failure.ts";
import { openTools, tellUnassigned, type OpenTools } from "../../input/open-tools.ts";
import { printJson, printTable, table, writeStdout, oneLine } from "../../terminal/standard-streams.ts";
import type { UnassignedTool } from "../../../sources/mcp/make-tools.ts";

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
      ...(allowedCallers.includes("direct") && {
        /** In the form that providers take for direct calls. */
        jsonTokens: countTokens(JSON.stringify({ name, description, input_schema: schema })),
      }),
      ...(allowedCallers.includes("programmatic") && { stubTokens: countTokens(declareTools([tool])) }),
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
function checkTools(open: OpenTools, json: boolean): void {
  const { tools, problems } = open;
  const servers = serversOf(open);
  const documents = documentsOf(open);
  const unassigned = open.unassigned.map(unassignedLine);
  const inputs = inputsOf(tools);
  if (json)
    return printJson({ tools: tools.map(({ name }) => name), servers, documents, unassigned, problems, inputs });
  const named = servers.map(({ source, protocol = "–", name = "–", version = "–" }) => [
    source,
    protocol,
    name,
    version,
  ]);
  printRows(["server", "protocol", "calls itself", "version"], named);
  const numbers = ["operations", "tools", "no caller", "left out"];
  const counts = documents.map(({ source, operations, tools: found, withoutCaller, leftOut }) => [
    source,
    ...[operations, found, withoutCaller, leftOut].map(count),
  ]);
  printRows(["document", ...numbers], counts, numbers);
  writeStdout(`${countText(tools.length, "tool")} may be called.\n`);
  const cells = unassigned.map(({ name, hint, line, allow }) => [name, hint, line, allow]);
  if (cells.length > 0)
    writeStdout(
      `\nNo caller may call these, because nothing is said about them. Check the effect, and add the line under\n"portcullis": { "tools": { … } } of the server, or the option:\n\n${table(["tool", "its server says", "line", "option"], cells, [])}\n`,
    );
  if (problems.length > 0)
    writeStdout(`\nLeft out, or not checked:\n${problems.map((problem) => `  ${oneLine(problem)}`).join("\n")}\n`);
  const rows = inputs.map(({ tool, providers, told }) => [tool, providers.join(", "), told]);
  if (rows.length > 0)
    writeStdout(
      `\nProviders are told of these inputs otherwise than their schemas say, by which calls are checked:\n\n${table(["tool", "provider", "told"], rows, [])}\n`,
    );
}

/** The inputs of which a provider cannot be told as their schemas say. */
function inputsOf(tools: readonly Tool[]) {
  return tools.flatMap((tool) => {
    const { $schema: _, ...schema } = inputSchemaOf(tool);
    return inputChanges(schema).map((change) => ({ tool: tool.name, ...change }));
  });
}

/** The MCP servers, each with the version of the protocol and with what it calls itself. */
function serversOf({ sources }: OpenTools) {
  return sources.flatMap(({ name: source, server }) => (server ? [{ source, ...server }] : []));
}

/** Prints a table with an empty line behind it, if it has rows. */
function printRows(...of: Parameters<typeof table>): void {
  if (of[1].length > 0) writeStdout(`${table(...of)}\n\n`);
}

/** The documents of APIs: how many of their operations are tools, and how many could not be or are of no caller. */
function documentsOf({ sources }: OpenTools) {
  return sources.flatMap(({ name: source, tools: { length: tools }, document }) =>
    document ? [{ source, ...document, tools, withoutCaller: document.operations - document.leftOut - tools }] : [],
  );
}

/** A tool that no caller may call, with what may be added to a file or to the command so that one may. */
function unassignedLine({ name, original, annotations }: UnassignedTool) {
  const { readOnlyHint, idempotentHint, destructiveHint } = annotations;
  const effect =
    readOnlyHint === true && destructiveHint !== true ? "read" : idempotentHint === true ? "idempotent" : "write";
  const approval = effect === "read" ? "" : ', "approval": "always"';
  const line = `${JSON.stringify(original)}: { "allowedCallers": ["programmatic"], "effect": "${effect}"${approval} }`;
  return { name, hint: hintOf(annotations), line, allow: `--allow ${name}=${effect}` };
}

/** What the server says of a tool. It may be wrong, or lie. */
function hintOf({ readOnlyHint, idempotentHint, destructiveHint }: UnassignedTool["annotations"]): string {
  if (readOnlyHint === true && destructiveHint !== true) return "reads";
  if (destructiveHint === true) return "destroys";
  return idempotentHint === true ? "may be repeated" : "–";
}
