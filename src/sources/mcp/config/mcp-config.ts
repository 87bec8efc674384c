import {
  checkOptions,
  describe,
  describeSecret,
  fieldOf,
  fieldsOf,
  isFields,
  optionError,
  type OptionPlace,
  pick,
  without,
} from "../../../base/index.ts";
import { FILE_RULES, FilePolicies } from "../../file-policies.ts";
import { MCP_RULES, type McpServer } from "../mcp-options.ts";
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Tool } from "../../../tools/tool.ts";
import type { ToolPolicy } from "../../tool-policy.ts";
import { invalid, readFileText, readJsonFile } from "../../json-file.ts";
import { expandVariables, type Variables } from "./expand-variables.ts";
import { fromMcp, type McpSource } from "../from-mcp.ts";
import type { McpAnnotations } from "../read-listed-tool.ts";
import { type UnassignedTool, cleanPath, toolPath } from "../make-tools.ts";
import type { Message } from "../wire/wire.ts";

const SETTINGS = ["pin", "resources", "protocol", "connectTimeoutMs"] as const;

/** What a configuration file may say of a server, under `portcullis`. Its tools stand there by the server's own names. */
export const FILE_SERVER_RULES = {
  ...FILE_RULES,
  ...pick(MCP_RULES, "pin", "resources", "protocol", "connectTimeoutMs"),
};

/** Throws `option_invalid`; `place` names the `portcullis` key in an error. */
function readServerPolicies(place: OptionPlace, given: unknown = {}) {
  const said = checkOptions(place, given, FILE_SERVER_RULES);
  const subject = { place, source: "the server", namesOf: (tool: string) => [tool], needsEffect: true };
  const policies = new FilePolicies(subject, without(said, ...SETTINGS));
  return { settings: pick(said, ...SETTINGS), policies };
}

/** Servers of one file. Each is a process, or a connection. */
const MOST_SERVERS = 100;

/** The servers of a configuration file, connected. */
export interface McpConfig extends AsyncDisposable {
  readonly sources: readonly McpSource[];
  /** The tools of all servers that a caller may call. */
  readonly tools: readonly Tool[];
  /** Tools that nothing was said about. */
  readonly unassigned: readonly UnassignedTool[];
  /** What could not be taken over, or is not checked, from the servers' lists, a sentence each. */
  readonly problems: readonly string[];
}

type PolicyOf = (name: string, annotations: McpAnnotations) => ToolPolicy | false | undefined;

export async function fromMcpConfig(path: string, policies: PolicyOf = () => undefined): Promise<McpConfig> {
  if (typeof path !== "string")
    throw optionError("fromMcpConfig(path)", "the path of a configuration file, like .mcp.json", path);
  const servers = await readConfig(path);
  const opening = await Promise.allSettled(servers.map((server) => openServer(server, policies)));
  const sources = opening.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = opening.find((one) => one.status === "rejected");
  if (failed) {
    await closeAll(sources);
    throw failed.reason;
  }
  return {
    sources,
    get tools() {
      return sources.flatMap(({ tools }) => tools);
    },
    get unassigned() {
      return sources.flatMap(({ unassigned }) => unassigned);
    },
    get problems() {
      return sources.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`));
    },
    [Symbol.asyncDispose]: () => closeAll(sources),
  };
}

async function closeAll(sources: readonly McpSource[]): Promise<void> {
  await Promise.all(sources.map((source) => source[Symbol.asyncDispose]()));
}

interface ConfiguredServer {
  readonly server: McpServer;
  readonly policies: FilePolicies;
}

async function openServer({ server, policies: own }: ConfiguredServer, policies: PolicyOf): Promise<McpSource> {
  const source = await fromMcp(server, (tool, annotations) =>
    own.of(tool, () => policies(toolPath(server.name, tool), annotations)),
  );
  try {
    own.refuseUnmatched(source.originals);
    return source;
  } catch (error) {
    await source[Symbol.asyncDispose]();
    throw error;
  }
}

async function readConfig(path: string): Promise<readonly ConfiguredServer[]> {
  const config = await readJsonFile(path);
  const key = isFields(config) ? ["mcpServers", "servers"].find((one) => Object.hasOwn(config, one)) : undefined;
  if (!isFields(config) || key === undefined || !isFields(config[key]))
    throw invalid(path, `expected an object "mcpServers" (or "servers", as VS Code has it) with servers by name`);
  const folder = dirname(resolve(path));
  const variables = { env: process.env, folder: basename(folder) === ".vscode" ? dirname(folder) : folder };
  const servers: [name: string, entry: unknown][] = [];
  for (const [name, entry] of Object.entries(config[key])) {
    const isLeftOut = isFields(entry) && (entry.disabled === true || (await isOwn(entry, variables.folder)));
    if (!isLeftOut) servers.push([name, entry]);
  }
  if (servers.length > MOST_SERVERS)
    throw invalid(
      path,
      `it has ${servers.length} servers, at most ${MOST_SERVERS} are connected to: disable the others`,
    );
  const beside = fieldOf(config, "portcullis") ?? {};
  if (!isFields(beside))
    throw invalid(path, `portcullis is ${describe(beside)}: expected an object of policies by the names of servers`);
  const stray = Object.keys(beside).find((name) => !Object.hasOwn(config[key] as Message, name));
  if (stray !== undefined)
    throw invalid(path, `portcullis speaks of ${JSON.stringify(stray.slice(0, 128))}, and there is no such server`);
  const read = servers.map(([name, entry]) =>
    readEntry(`${path}: server ${JSON.stringify(name.slice(0, 128))}`, name, entry, beside, variables),
  );
  for (const [index, { server }] of read.entries())
    if (read.slice(0, index).some((other) => other.server.name === server.name))
      throw invalid(path, `another server is named ${server.name} in programs too: rename one`);
  return read;
}

/** Whether an entry starts this package's own server: it would front itself. */
async function isOwn({ command, args, cwd }: Message, folder: string): Promise<boolean> {
  const given = [command, ...(Array.isArray(args) ? (args as unknown[]) : [])].filter(
    (word) => typeof word === "string",
  );
  // A shell has the command in one of its arguments.
  const words = SHELLS.has(nameOf(given[0] ?? "")) ? given.flatMap((word) => word.split(/[\s"'`;&|()]/)) : given;
  if (!words.includes("mcp")) return false;
  const isNamed = (word: string) =>
    nameOf(word) === "portcullis" ||
    nameOf(word).startsWith("portcullis@") ||
    /portcullis[\\/]dist[\\/]src[\\/]cli\.js$/.test(word);
  if (words.some(isNamed)) return true;
  const start = resolve(folder, typeof cwd === "string" ? cwd : "");
  for (const word of words) if (await isOwnScript(resolve(start, word))) return true;
  return false;
}

const PACKAGE_BYTES = 64 * 1024;

/** Whether a path leads, also by links, to the command line of any copy of this package. */
async function isOwnScript(path: string): Promise<boolean> {
  const real = await realpath(path).catch(() => path);
  const [, root] = /^(.*?)[\\/](?:dist[\\/])?src[\\/]cli\.[jt]s$/s.exec(real) ?? [];
  if (root === undefined) return false;
  const file = join(root, "package.json");
  try {
    const described: unknown = JSON.parse(await readFileText(file, file, PACKAGE_BYTES));
    return fieldOf(described, "name") === "portcullis";
  } catch {
    return false;
  }
}

const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "zsh", "dash", "fish", "cmd", "powershell", "pwsh", "env"]);

/** Name of a command, of any system. */
function nameOf(word: string): string {
  const name = word.slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\")) + 1).toLowerCase();
  return name.replace(/\.(?:cmd|exe|ps1|bat)$/, "");
}

function readEntry(
  place: string,
  name: string,
  entry: unknown,
  beside: Message,
  variables: Variables,
): ConfiguredServer {
  if (!isFields(entry)) throw invalid(place, `it is ${describeSecret(entry)}, not an object`);
  const { type, command, args, env, cwd, headers, portcullis } = entry;
  const url = entry.url ?? entry.serverUrl;
  if (type === "sse") throw invalid(place, `the transport "sse" is not supported: use "http", which has replaced it`);
  if (entry.envFile !== undefined) throw invalid(place, "envFile is not read: name the variables in env");
  if (portcullis !== undefined && Object.hasOwn(beside, name))
    throw invalid(place, "its policy stands both in the server and beside mcpServers: remove one");
  if ((command === undefined) === (url === undefined)) throw invalid(place, "expected either command or url");
  const { policies, settings } = readServerPolicies(
    fieldsOf(`${place}: portcullis`),
    portcullis ?? (Object.hasOwn(beside, name) ? beside[name] : undefined),
  );
  const text = (field: string, value: unknown): string => {
    if (typeof value !== "string") throw invalid(place, `${field} is ${describeSecret(value)}, not text`);
    try {
      return expandVariables(value, variables);
    } catch (error) {
      throw invalid(place, `${field}: ${(error as Error).message}`);
    }
  };
  const texts = (field: string, value: unknown): Readonly<Record<string, string>> => {
    if (!isFields(value)) throw invalid(place, `${field} is ${describeSecret(value)}, not an object`);
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, text(`${field}.${key}`, one)]));
  };
  const list = (value: unknown): readonly string[] => {
    if (!Array.isArray(value)) throw invalid(place, `args is ${describeSecret(value)}, not a list`);
    return value.map((one, index) => text(`args[${index}]`, one));
  };
  const own =
    url === undefined
      ? {
          command: text("command", command),
          cwd: resolve(variables.folder, cwd === undefined ? "" : text("cwd", cwd)),
          ...(args === undefined ? {} : { args: list(args) }),
          ...(env === undefined ? {} : { env: texts("env", env) }),
        }
      : { url: text("url", url), ...(headers === undefined ? {} : { headers: texts("headers", headers) }) };
  return { server: { ...own, ...settings, name: cleanPath(name) }, policies };
}
