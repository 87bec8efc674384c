import { fromMcpConfig, type McpConfig } from "../../sources/mcp/mcp-config.ts";
import type { UnassignedTool } from "../../sources/mcp/tool-list.ts";
import type { Tool } from "../../tools/tool.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { oneLine } from "../terminal/one-line.ts";
import { keepStdout } from "../terminal/standard-streams.ts";
import { loadTools } from "./load-tools.ts";
import { AllowList } from "./parse-allow.ts";

/** The options of the commands that take tools. */
export interface ToolsOptions {
  /** Module that exports tools. */
  readonly tools?: string;
  /** Configuration files of MCP servers. */
  readonly mcp: readonly string[];
  /** `--allow`, as it was written. */
  readonly allow: readonly string[];
}

/** Tools of a module and of servers, which are connected until this is disposed of. */
export interface OpenTools extends AsyncDisposable {
  readonly tools: readonly Tool[];
  /** Tools of servers that no caller may call, because nothing was said about them. */
  readonly unassigned: readonly UnassignedTool[];
  readonly problems: readonly string[];
}

/** Loads the module, and connects to the servers. Rejects with a `Failure` or a `PortcullisError`; then no server is left running. */
export async function openTools({ tools: module, mcp, allow }: ToolsOptions): Promise<OpenTools> {
  if (module === undefined && mcp.length === 0)
    throw new Failure(
      EXIT.usage,
      "expected --tools, a module with tools, or --mcp, a configuration file of MCP servers.",
    );
  if (allow.length > 0 && mcp.length === 0)
    throw new Failure(EXIT.usage, "--allow goes with --mcp: a module says itself who may call its tools.");
  const allowed = new AllowList(allow);
  const own = module === undefined ? [] : await loadTools(module);
  // What a server's package prints is no result.
  keepStdout();
  const configs: McpConfig[] = [];
  const close = async () => {
    await Promise.all(configs.map((config) => config[Symbol.asyncDispose]()));
  };
  try {
    for (const file of mcp) {
      const config = await fromMcpConfig(file, (name) => allowed.policyOf(name));
      configs.push(config);
      refuseSameName(file, configs);
    }
    const served = configs.flatMap(({ tools }) => tools);
    const unassigned = configs.flatMap((config) => config.unassigned);
    allowed.refuseUnused([...served, ...unassigned].map(({ name }) => name));
    return {
      tools: [...own, ...served],
      unassigned,
      problems: configs.flatMap(({ problems }) => problems),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Says on standard error how many tools of servers no caller may call. */
export function tellUnassigned({ unassigned, problems }: OpenTools, mcp: readonly string[]): void {
  const parts = [
    ...(unassigned.length > 0 ? [`${unassigned.length} tools of servers are of no caller`] : []),
    ...(problems.length > 0 ? [`${problems.length} could not be taken over`] : []),
  ];
  if (parts.length === 0) return;
  const files = mcp.map((file) => `--mcp ${file}`).join(" ");
  process.stderr.write(`${oneLine(`${parts.join(", and ")}: portcullis tools ${files} --check lists them.`)}\n`);
}

/** Their tools would have the same names. */
function refuseSameName(file: string, configs: readonly McpConfig[]): void {
  const names = configs.flatMap(({ sources }) => sources.map(({ name }) => name));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new Failure(EXIT.usage, `--mcp: ${file} has a server ${twice}, and so has a file before it: rename one.`);
}
