import { toolFacts } from "../../../tools/tool-facts.ts";
import { declarationTokens, directTokens, FACT_COLUMNS, factCells } from "../tools/tool-facts.ts";
import { count, counted } from "../../../output/count-text.ts";
import { createRuntime } from "../../../runtime.ts";
import { listTools } from "../../../serve/mcp/listed-tools.ts";
import type { CommandOptions, MCP } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { openTools, type OpenSource } from "../../input/open-tools.ts";
import { printJson, table } from "../../terminal/print.ts";
import { writeStdout } from "../../terminal/standard-streams.ts";
import { printLeftOut, unassignedLines } from "../tools/check-tools.ts";

/** `portcullis mcp --check`: prints what the door would serve, and what a client's model would read of it. Resolves with the exit code. */
export async function checkDoor(options: CommandOptions<typeof MCP>): Promise<number> {
  await using open = await openTools(options);
  await using runtime = await createRuntime({ tools: open.tools, sandbox: options.sandbox });
  const served = listTools(runtime).tools.map(({ name, description, inputSchema }) => ({
    name,
    tokens: declarationTokens(name, description, inputSchema),
  }));
  const tools = open.sources.flatMap(rowsOf);
  const tokens = { direct: sumOf(tools), served: sumOf(served) };
  if (options.json) {
    const sources = open.sources.map(({ name, from, tools: own }) => ({ name, from, tools: own.length }));
    printJson({ sources, tools, served, tokens, unassigned: unassignedLines(open), problems: open.problems });
    return EXIT.completed;
  }
  const sources = open.sources.map((source) => [source.name, source.from, count(source.tools.length)]);
  writeStdout(`${table(["source", "named by", "tools"], sources, ["tools"])}\n\n`);
  const cells = tools.map((tool) => [...factCells(tool), count(tool.tokens)]);
  writeStdout(`${table([...FACT_COLUMNS, "tokens"], cells, ["tokens"])}\n\n`);
  writeStdout(`Served, with tokens: ${served.map((one) => `${one.name} (${count(one.tokens)})`).join(", ")}\n`);
  writeStdout(
    `Listed directly, these tools take ${counted(tokens.direct, "token")}; through Portcullis ${count(tokens.served)}.\n`,
  );
  printLeftOut(open);
  return EXIT.completed;
}

function rowsOf({ name: source, tools }: OpenSource) {
  return tools.map((tool) => ({ source, ...toolFacts(tool), tokens: directTokens(tool) }));
}

function sumOf(rows: readonly { readonly tokens: number }[]): number {
  return rows.reduce((sum, { tokens }) => sum + tokens, 0);
}
