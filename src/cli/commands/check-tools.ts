import { cleanText } from "../../output/clean-text.ts";
import type { UnassignedTool } from "../../sources/mcp/tool-list.ts";
import { EXIT } from "../exit-code.ts";
import type { OpenTools } from "../input/open-tools.ts";
import { oneLine } from "../terminal/one-line.ts";
import { writeStdout } from "../terminal/standard-streams.ts";
import { table } from "../terminal/table.ts";

/** `portcullis tools --check`: lists the tools of servers that no caller may call, each with the line to add, and what could not be taken over. */
export function checkTools({ tools, unassigned, problems }: OpenTools, json: boolean): number {
  const lines = unassigned.map((tool) => ({
    name: tool.name,
    hint: hintOf(tool),
    line: lineOf(tool),
    allow: allowOf(tool),
  }));
  if (json) {
    writeStdout(
      `${cleanText(JSON.stringify({ tools: tools.map(({ name }) => name), unassigned: lines, problems }))}\n`,
    );
    return EXIT.completed;
  }
  writeStdout(`${tools.length === 1 ? "1 tool" : `${tools.length} tools`} may be called.\n`);
  if (lines.length > 0) {
    writeStdout(
      `\nNo caller may call these, because nothing is said about them. Check the effect, and add the line under\n"portcullis": { "tools": { … } } of the server, or the option:\n\n`,
    );
    const cells = lines.map(({ name, hint, line, allow }) => [name, hint, line, allow]);
    writeStdout(`${table(["tool", "its server says", "line", "option"], cells, [])}\n`);
  }
  if (problems.length > 0)
    writeStdout(`\nLeft out:\n${problems.map((problem) => `  ${oneLine(problem)}`).join("\n")}\n`);
  return EXIT.completed;
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
  return `${JSON.stringify(tool.original)}: { "allowedCallers": ["programmatic"], "effect": "${effectOf(tool)}" }`;
}

function allowOf(tool: UnassignedTool): string {
  return `--allow ${tool.name}=${effectOf(tool)}`;
}
