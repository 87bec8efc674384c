import { fromMcpConfig, type McpConfig } from "../../sources/mcp/config/mcp-config.ts";
import {
  effectOf,
  type OpenApiSource,
  fromOpenApi,
  type OpenApiOptions,
  type OpenApiPolicy,
} from "../../sources/openapi/from-openapi.ts";
import type { UnassignedTool } from "../../sources/mcp/make-tools.ts";
import type { McpAnnotations } from "../../sources/mcp/read-listed-tool.ts";
import type { ServerIdentity } from "../../sources/mcp/from-mcp.ts";
import { EFFECTS, type Tool } from "../../tools/tool.ts";
import type { ToolsOptions } from "../command-options.ts";
import { UsageFailure } from "../failure.ts";
import { flags } from "../terminal/executions/waiting-hints.ts";
import { keepStdout, tellWork, writeStderr } from "../terminal/standard-streams.ts";
import { loadTools } from "./load-module.ts";
import { requireFile } from "./option-values.ts";
import {
  count,
  orMeant,
  checkOptions,
  errorAt,
  fieldsOf,
  flag,
  object,
  option,
  type OptionPlace,
  PortcullisError,
  required,
  secret,
  words,
} from "../../base/index.ts";
import type { ToolPolicy } from "../../sources/tool-policy.ts";
import { isMeantBy } from "../../tools/tool-name.ts";
import { basename, dirname, resolve } from "node:path";
import { expandWithin } from "../../sources/mcp/config/expand-variables.ts";
import { invalidFile, readFileText, readJsonFile } from "../../sources/json-file.ts";
import { policiesIn } from "../../sources/file-policies.ts";

/** Where tools come from: a module, a server or an API. */
export interface OpenSource {
  readonly name: string;
  readonly tools: readonly Tool[];
  /** Of an MCP server. */
  readonly server?: ServerIdentity;
  /** Names for all tools of servers and of APIs. */
  readonly names?: readonly string[];
  /** Of a document: how many of its operations could not become tools. */
  readonly leftOut?: number;
}

/** The tools that there are now, of a module, of servers and of APIs; servers are connected until this is disposed of. */
export interface OpenTools extends Omit<McpConfig, "sources"> {
  readonly sources: readonly OpenSource[];
}

/** A file of servers, or of an API, with the names of its tools. */
interface Opened extends Omit<McpConfig, "sources"> {
  readonly sources: readonly (OpenSource & Pick<OpenApiSource, "names">)[];
}

/** Loads the module, and connects to the servers. Rejects with a `CommandFailure` or a `PortcullisError`; then no server is left running. */
export async function openTools(options: ToolsOptions): Promise<OpenTools> {
  const { tools: module, mcp, openapi } = options;
  if (module === undefined && mcp.length === 0 && openapi.length === 0)
    throw new UsageFailure(
      "expected --tools, a module with tools, or --mcp, a configuration file of MCP servers, or --openapi, a file that describes an API.",
    );
  return openAnyTools(options);
}

/** Like `openTools`, for commands that also work without tools. */
export async function openAnyTools({ tools: module, mcp, openapi, allow }: ToolsOptions): Promise<OpenTools> {
  if (allow.length > 0 && mcp.length === 0 && openapi.length === 0)
    throw new UsageFailure("--allow goes with --mcp and --openapi: a module says itself who may call its tools.");
  for (const path of mcp) requireFile("--mcp", path);
  for (const path of openapi) requireFile("--openapi", path);
  const allowed = allowList(allow);
  const own = module === undefined ? [] : await loadTools(module);
  // What a server's package prints is not the command's result.
  keepStdout();
  const configs: Opened[] = [];
  const names = new Set<string>();
  const take = (option: string, file: string, config: Opened) => {
    configs.push(config);
    // Tools of two sources with one name would have the same names.
    const twice = config.sources.find(({ name }) => names.size === names.add(name).size);
    if (twice)
      throw new UsageFailure(`${option}: ${file} has a source ${twice.name}, and so has a file before it: rename one.`);
  };
  const close = async () => {
    await Promise.all(configs.map((config) => config[Symbol.asyncDispose]()));
  };
  const { policyOf } = allowed;
  try {
    for (const file of mcp) {
      tellWork(`Connecting to the servers of ${file}`);
      take("--mcp", file, await fromMcpConfig(file, policyOf));
    }
    for (const file of openapi) {
      const source = await readOpenApiFile(file, policyOf);
      take("--openapi", file, { ...source, sources: [source], unassigned: unassignedOf(source) });
    }
    const opened = configs.flatMap(({ sources }) => sources);
    allowed.refuseUnused(opened.flatMap(({ names }) => names));
    allowed.tellDestructive();
    return {
      get tools() {
        return [...own, ...configs.flatMap(({ tools }) => tools)];
      },
      sources: module === undefined ? opened : [{ name: module, tools: own }, ...opened],
      unassigned: configs.flatMap(({ unassigned }) => unassigned),
      problems: configs.flatMap(({ problems }) => problems),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Says on standard error how many tools of servers no caller may call. */
export function tellUnassigned({ unassigned, problems }: OpenTools, { mcp, openapi }: ToolsOptions): void {
  const one = unassigned.length === 1;
  const parts = [
    unassigned.length > 0 &&
      `${count(unassigned.length)} ${one ? "tool of a server is" : "tools of servers are"} of no caller`,
    problems.length > 0 && `${count(problems.length)} could not be taken over as a whole`,
  ].filter((part) => part !== false);
  if (parts.length === 0) return;
  writeStderr(`${parts.join(", and ")}: portcullis tools${flags({ mcp, openapi })} --check lists them.\n`);
}

/** Operations of an API that nothing was said about. Their methods are hints, as a server's annotations are. */
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

/** `--allow files.*=read`: programs may call these tools, and what a call changes. If it changes something, it needs approval. */
type Allowed = ReturnType<typeof parseAllow>;

/** `pattern` is a name, a namespace followed by `.*`, or `*`. */
function parseAllow(text: string) {
  const [pattern, effect, ...rest] = text.split("=") as [string, ...string[]];
  const match = EFFECTS.find((one) => one === effect);
  if (pattern === "" || match === undefined || rest.length > 0)
    throw new UsageFailure(
      `--allow: expected tools and their effect, like files.*=read (${EFFECTS.join(", ")}), got ${JSON.stringify(text)}.`,
    );
  return { pattern, effect: match };
}

/** Applies the options `--allow` to tools that nothing else is said about. The last option that fits a tool decides. */
function allowList(texts: readonly string[]) {
  const allowed = texts.map(parseAllow);
  const applied = new Set<Allowed>();
  const destructive: string[] = [];
  const policyOf = (name: string, { destructiveHint }: McpAnnotations = {}): ToolPolicy | undefined => {
    const fitting = allowed.filter(({ pattern }) => isMeantBy(pattern, name));
    for (const one of fitting) applied.add(one);
    const effect = fitting.at(-1)?.effect;
    if (effect === undefined) return undefined;
    if (effect === "read" && destructiveHint === true) destructive.push(name);
    return { allowedCallers: ["programmatic"], effect, approval: effect === "read" ? undefined : "always" };
  };
  /** Throws a `CommandFailure` for an option that had nothing to allow. `names` are the names of all tools of servers. */
  const refuseUnused = (names: readonly string[]): void => {
    const unused = allowed.find((one) => !applied.has(one));
    if (!unused) return;
    const { pattern, effect } = unused;
    const subject = `--allow ${pattern}=${effect}`;
    if (names.some((name) => isMeantBy(pattern, name)))
      throw new UsageFailure(`${subject}: the configuration file says already who may call these tools.`);
    const candidates = [...names, ...new Set(names.map((name) => `${name.split(".")[0]}.*`))];
    throw new UsageFailure(`${subject}: no server has such a tool${orMeant(pattern, candidates)}`);
  };
  /** What a server calls destructive has no approval as a read: a pattern may fit more tools than were meant. */
  const tellDestructive = (): void => {
    if (destructive.length === 0) return;
    const [first] = destructive;
    writeStderr(
      `--allow has programs call as reads, without approval, what its server calls destructive: ${destructive.join(", ")}. To ask for approval, add --allow ${first}=write.\n`,
    );
  };
  return { policyOf, refuseUnused, tellDestructive };
}

export const OPENAPI_FILE_RULES = {
  /** What the names of its tools begin with: `github` for `github.issues.listForRepo`. */
  name: required(words("a name of letters, digits and _")),
  /** Path of the document, from the folder of this file. */
  spec: required(words("the path of an OpenAPI document, from the folder of this file")),
  /** The address before the document's paths. Servers that the document names are not used. */
  baseUrl: secret(required(words("the address of the API, like https://api.example.com/v1"))),
  /** How requests say who sends them, as `fromOpenApi` takes it. `${VAR}` stands for a variable of the environment. */
  auth: secret(object<object>("an object with bearer, basic or apiKey")),
  /** Headers of every request, besides. `${VAR}` stands for a variable of the environment. */
  headers: secret(object<object>("an object of headers")),
  /** Whether a result that does not fit the document's schema fails its call; true by default. */
  checkResults: flag(),
  /** Who may call its tools, and what they change. */
  portcullis: object<object>("an object with the policy of its tools"),
  /** For editors; it is not read. */
  $schema: option<string>("text", (value) => typeof value === "string"),
};

/**
 * The source that a JSON file describes: `{ name, spec, baseUrl, auth?, headers?, checkResults?, portcullis? }`. `spec`
 * is the path of its document. `${VAR}` in a text stands for a variable of the environment. Who may call its tools
 * stands under `portcullis`; if that says nothing, `policies` is asked. Rejects with a `PortcullisError` that names the
 * file and the place.
 */
async function readOpenApiFile(
  path: string,
  policies: (name: string) => OpenApiPolicy | undefined,
): Promise<OpenApiSource> {
  const place: OptionPlace = { object: path, subject: path, at: (name) => `${path}: ${name}` };
  const file = await readJsonFile(path);
  if (typeof file === "object" && file !== null && ("openapi" in file || "swagger" in file))
    throw new PortcullisError(
      "option_invalid",
      `${path}: this is the document itself. Write a file beside it that names it, and the address of the API, and give that one: ${JSON.stringify({ name: "api", spec: basename(path), baseUrl: "https://api.example.com/v1" })}`,
    );
  const { portcullis = {}, $schema: _, spec, ...fields } = checkOptions(place, file, OPENAPI_FILE_RULES);
  const variables = { env: process.env, folder: dirname(resolve(path)) };
  const expanded = Object.entries(fields).map(([name, one]) => [name, expandWithin(place.at(name), one, variables)]);
  const options = Object.fromEntries(expanded) as Omit<OpenApiOptions, "spec">;
  const inside = `${options.name}.`;
  const filePolicies = policiesIn(
    {
      place: fieldsOf(`${path}: portcullis`),
      source: options.name,
      // The name is also accepted without the source's name in front.
      namesOf: (name) => (name.startsWith(inside) ? [name.slice(inside.length), name] : [name]),
      needsEffect: false,
    },
    portcullis,
  );
  const document = await readDocumentFile(place.at("spec"), resolve(dirname(path), spec), spec);
  const policyOf = (name: string) => filePolicies.of(name, () => policies(name));
  const source = await fromOpenApi({ ...options, spec: document }, policyOf).catch((error: unknown) => {
    // Errors about options name the function that a host calls; here they are fields of a file.
    throw errorAt(path, error);
  });
  filePolicies.refuseUnmatched(source.names);
  return source;
}

/** Largest document, in bytes. `fromOpenApi` itself refuses a text that is too long for it. */
const DOCUMENT_BYTES = 256 * 1024 * 1024;

function readDocumentFile(place: string, path: string, written: string): Promise<string> {
  if (/^https?:/i.test(written))
    throw invalidFile(place, "it is an address: save the document in a file, and name that");
  return readFileText(place, path, DOCUMENT_BYTES);
}
