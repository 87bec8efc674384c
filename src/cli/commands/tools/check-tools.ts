import type { UnassignedTool } from "../../../sources/mcp/make-tools.ts";
import { count, counted } from "../../../base/index.ts";
import type { OpenTools } from "../../input/open-tools.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { printJson, table } from "../../terminal/print.ts";
import { writeStdout } from "../../terminal/standard-streams.ts";

/**
 * `portcullis tools --check`: lists the MCP servers, and the tools of servers that no caller may call, each with the line to add, and what could
 * not be taken over.
 */
export function checkTools(open: OpenTools, json: boolean): void {
  const { tools, problems } = open;
  const servers = serversOf(open);
  const documents = documentsOf(open);
  if (json)
    printJson({
      tools: tools.map(({ name }) => name),
      servers,
      documents,
      unassigned: unassignedLines(open),
      problems,
    });
  else {
    printServers(servers);
    printDocuments(documents);
    writeStdout(`${counted(tools.length, "tool")} may be called.\n`);
    printLeftOut(open);
  }
}

/** The MCP servers, each with the version of the protocol and with what it calls itself. */
function serversOf({ sources }: OpenTools) {
  return sources.flatMap(({ name: source, server }) => (server ? [{ source, ...server }] : []));
}

function printServers(servers: ReturnType<typeof serversOf>): void {
  if (servers.length === 0) return;
  const cells = servers.map(({ source, protocol = "–", name = "–", version = "–" }) =>
    [source, protocol, name, version].map(oneLine),
  );
  writeStdout(`${table(["server", "protocol", "calls itself", "version"], cells, [])}\n\n`);
}

/** The documents of APIs: how many of their operations are tools, and how many could not be or are of no caller. */
function documentsOf({ sources }: OpenTools) {
  return sources.flatMap(({ name: source, tools: { length: tools }, document }) =>
    document ? [{ source, ...document, tools, withoutCaller: document.operations - document.leftOut - tools }] : [],
  );
}

function printDocuments(documents: ReturnType<typeof documentsOf>): void {
  if (documents.length === 0) return;
  const cells = documents.map(({ source, operations, tools, withoutCaller, leftOut }) => [
    source,
    ...[operations, tools, withoutCaller, leftOut].map(count),
  ]);
  const numbers = ["operations", "tools", "no caller", "left out"];
  writeStdout(`${table(["document", ...numbers], cells, numbers)}\n\n`);
}

/** The tools that no caller may call, each with what may be added to a file or to the command so that one may. */
function unassignedLines({ unassigned }: OpenTools) {
  return unassigned.map((tool) => ({ name: tool.name, hint: hintOf(tool), line: lineOf(tool), allow: allowOf(tool) }));
}

/** Prints the tools that no caller may call, and what could not be taken over as a whole. */
function printLeftOut(open: OpenTools): void {
  const cells = unassignedLines(open).map(({ name, hint, line, allow }) => [name, hint, line, allow]);
  if (cells.length > 0)
    writeStdout(
      `\nNo caller may call these, because nothing is said about them. Check the effect, and add the line under\n"portcullis": { "tools": { … } } of the server, or the option:\n\n${table(["tool", "its server says", "line", "option"], cells, [])}\n`,
    );
  const { problems } = open;
  if (problems.length > 0)
    writeStdout(`\nLeft out, or not checked:\n${problems.map((problem) => `  ${oneLine(problem)}`).join("\n")}\n`);
}

/** What the server says of a tool. It may be wrong, or lie. */
function hintOf({ annotations: { readOnlyHint, idempotentHint, destructiveHint } }: UnassignedTool): string {
  if (readOnlyHint === true) return "reads";
  if (idempotentHint === true) return "may be repeated";
  return destructiveHint === true ? "destroys" : "–";
}

function effectOf({ annotations: { readOnlyHint, idempotentHint } }: UnassignedTool): string {
  return readOnlyHint === true ? "read" : idempotentHint === true ? "idempotent" : "write";
}

function lineOf(tool: UnassignedTool): string {
  const effect = effectOf(tool);
  const approval = effect === "read" ? "" : ', "approval": "always"';
  return `${JSON.stringify(tool.original)}: { "allowedCallers": ["programmatic"], "effect": "${effect}"${approval} }`;
}

function allowOf(tool: UnassignedTool): string {
  return `--allow ${tool.name}=${effectOf(tool)}`;
}
