import { approvalText, declarationTokens, directTokens } from "../tools/tool-facts.ts";
import { createRuntime } from "../../../runtime.ts";
import { listTools } from "../../../serve/mcp/listed-tools.ts";
import { EXIT } from "../../exit-code.ts";
import { openTools, type OpenSource, type OpenTools, type ToolsOptions } from "../../input/open-tools.ts";
import { parseSandbox } from "../../input/option-values.ts";
import { printJson, table } from "../../terminal/print.ts";
import { writeStdout } from "../../terminal/standard-streams.ts";
import { printLeftOut, unassignedLines } from "../tools/check-tools.ts";

interface DoorOptions extends ToolsOptions {
  readonly sandbox: string;
  readonly json?: boolean;
}

/** `portcullis mcp --check`: prints what the door would serve, and what a client's model would read of it. Resolves with the exit code. */
export async function checkDoor(options: DoorOptions): Promise<number> {
  await using open = await openTools(options);
  await using runtime = await createRuntime({ tools: open.tools, sandbox: parseSandbox(options.sandbox) });
  const served = listTools(runtime).tools.map(({ name, description, inputSchema }) => ({
    name,
    tokens: declarationTokens(name, description, inputSchema),
  }));
  if (options.json) printJson(jsonOf(open, served));
  else print(open, served);
  return EXIT.completed;
}

interface Served {
  readonly name: string;
  readonly tokens: number;
}

function rowsOf({ name: source, tools }: OpenSource) {
  return tools.map((tool) => ({
    source,
    name: tool.name,
    callers: tool.allowedCallers,
    effect: tool.effect,
    approval: approvalText(tool),
    tokens: directTokens(tool),
  }));
}

function jsonOf(open: OpenTools, served: readonly Served[]): object {
  const tools = open.sources.flatMap(rowsOf);
  return {
    sources: open.sources.map(({ name, from, tools: own }) => ({ name, from, tools: own.length })),
    tools,
    served,
    tokens: { direct: sumOf(tools), served: sumOf(served) },
    unassigned: unassignedLines(open),
    problems: open.problems,
  };
}

function print(open: OpenTools, served: readonly Served[]): void {
  const sources = open.sources.map((source) => [source.name, source.from, `${source.tools.length}`]);
  writeStdout(`${table(["source", "named by", "tools"], sources, ["tools"])}\n\n`);
  const rows = open.sources.flatMap(rowsOf);
  const cells = rows.map(({ name, callers, effect, approval, tokens }) => [
    name,
    callers.join(", "),
    effect,
    approval,
    `${tokens}`,
  ]);
  writeStdout(`${table(["tool", "callers", "effect", "approval", "tokens"], cells, ["tokens"])}\n\n`);
  const names = served.map(({ name, tokens }) => `${name} (${tokens})`).join(", ");
  writeStdout(`Served, with tokens: ${names}\n`);
  writeStdout(`Listed directly, these tools take ${sumOf(rows)} tokens; through Portcullis ${sumOf(served)}.\n`);
  printLeftOut(open);
}

function sumOf(rows: readonly { readonly tokens: number }[]): number {
  return rows.reduce((sum, { tokens }) => sum + tokens, 0);
}
