import { fromMcpConfig, type McpConfig } from "../../sources/mcp/mcp-config.ts";
import { effectOf, type OpenApiSource } from "../../sources/openapi/from-openapi.ts";
import type { UnassignedTool } from "../../sources/mcp/tool-list.ts";
import type { Tool } from "../../tools/tool.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { oneLine } from "../terminal/one-line.ts";
import { keepStdout } from "../terminal/standard-streams.ts";
import { loadTools } from "./load-tools.ts";
import { readOpenApiFile } from "./openapi-file.ts";
import { AllowList } from "./parse-allow.ts";

/** The options of the commands that take tools. */
export interface ToolsOptions {
  /** Module that exports tools. */
  readonly tools?: string;
  /** Configuration files of MCP servers. */
  readonly mcp: readonly string[];
  /** Files that describe OpenAPI sources. */
  readonly openapi: readonly string[];
  /** `--allow`, as it was written. */
  readonly allow: readonly string[];
}

/** Where tools come from: a module, a server or an API. */
export interface OpenSource {
  readonly name: string;
  /** The option that named it, with its file. */
  readonly from: string;
  readonly tools: readonly Tool[];
}

/** Tools of a module, of servers and of APIs; servers are connected until this is disposed of. */
export interface OpenTools extends AsyncDisposable {
  /** Those that there are now: servers may change their lists. */
  readonly tools: readonly Tool[];
  readonly sources: readonly OpenSource[];
  /** Tools of servers that no caller may call, because nothing was said about them. */
  readonly unassigned: readonly UnassignedTool[];
  readonly problems: readonly string[];
}

/** Loads the module, and connects to the servers. Rejects with a `Failure` or a `PortcullisError`; then no server is left running. */
export async function openTools({ tools: module, mcp, openapi, allow }: ToolsOptions): Promise<OpenTools> {
  if (module === undefined && mcp.length === 0 && openapi.length === 0)
    throw new Failure(
      EXIT.usage,
      "expected --tools, a module with tools, or --mcp, a configuration file of MCP servers, or --openapi, a file that describes an API.",
    );
  if (allow.length > 0 && mcp.length === 0 && openapi.length === 0)
    throw new Failure(
      EXIT.usage,
      "--allow goes with --mcp and --openapi: a module says itself who may call its tools.",
    );
  const allowed = new AllowList(allow);
  const own = module === undefined ? [] : await loadTools(module);
  // What a server's package prints is no result.
  keepStdout();
  const configs: McpConfig[] = [];
  const sources: OpenSource[] = module === undefined ? [] : [{ name: module, from: "--tools", tools: own }];
  const names = new Set<string>();
  const close = async () => {
    await Promise.all(configs.map((config) => config[Symbol.asyncDispose]()));
  };
  try {
    for (const file of mcp) {
      const config = await fromMcpConfig(file, (name) => allowed.policyOf(name));
      configs.push(config);
      takeNames(`--mcp: ${file}`, names, config.sources);
      sources.push(...config.sources.map(({ name, tools }) => ({ name, from: `--mcp ${file}`, tools })));
    }
    const apis: OpenApiSource[] = [];
    for (const file of openapi) {
      const source = await readOpenApiFile(file, (name) => allowed.policyOf(name));
      apis.push(source);
      takeNames(`--openapi: ${file}`, names, [source]);
      sources.push({ name: source.name, from: `--openapi ${file}`, tools: source.tools });
    }
    const served = () => [...configs, ...apis].flatMap(({ tools }) => tools);
    const unassigned = [...configs.flatMap((config) => config.unassigned), ...apis.flatMap(unassignedOf)];
    allowed.refuseUnused([...served(), ...unassigned].map(({ name }) => name));
    return {
      get tools() {
        return [...own, ...served()];
      },
      sources,
      unassigned,
      problems: [...configs, ...apis].flatMap(({ problems }) => problems),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Says on standard error how many tools of servers no caller may call. */
export function tellUnassigned({ unassigned, problems }: OpenTools, { mcp, openapi }: ToolsOptions): void {
  const parts = [
    ...(unassigned.length > 0 ? [`${unassigned.length} tools of servers are of no caller`] : []),
    ...(problems.length > 0 ? [`${problems.length} could not be taken over`] : []),
  ];
  if (parts.length === 0) return;
  const files = [...mcp.map((file) => `--mcp ${file}`), ...openapi.map((file) => `--openapi ${file}`)].join(" ");
  process.stderr.write(`${oneLine(`${parts.join(", and ")}: portcullis tools ${files} --check lists them.`)}\n`);
}

/** Tools of two sources with one name would have the same names. */
function takeNames(file: string, names: Set<string>, sources: readonly { readonly name: string }[]): void {
  for (const { name } of sources) {
    if (names.has(name))
      throw new Failure(EXIT.usage, `${file} has a source ${name}, and so has a file before it: rename one.`);
    names.add(name);
  }
}

/** Operations of an API that nothing was said about. What their methods say is a hint, as a server's annotations are. */
function unassignedOf({ name: source, unassigned }: OpenApiSource): readonly UnassignedTool[] {
  return unassigned.map(({ name, method }) => {
    const effect = effectOf(method);
    return {
      name,
      original: name.slice(source.length + 1),
      annotations: { readOnlyHint: effect === "read", idempotentHint: effect === "idempotent" },
    };
  });
}
