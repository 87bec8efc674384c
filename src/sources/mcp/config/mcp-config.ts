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
import { FILE_RULES, type FilePolicies, policiesIn } from "../../file-policies.ts";
import { MCP_RULES, type McpServer } from "../mcp-options.ts";
import { basename, dirname, resolve } from "node:path";
import type { Tool } from "../../../tools/tool.ts";
import type { ToolPolicy } from "../../tool-policy.ts";
import { invalidFile, readJsonFile } from "../../json-file.ts";
import { expandWithin, type Variables } from "./expand-variables.ts";
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

function readServerPolicies(place: OptionPlace, value: unknown = {}) {
  const options = checkOptions(place, value, FILE_SERVER_RULES);
  const subject = { place, source: "the server", namesOf: (tool: string) => [tool], needsEffect: true };
  const policies = policiesIn(subject, without(options, ...SETTINGS));
  return { settings: pick(options, ...SETTINGS), policies };
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
    throw invalidFile(path, `expected an object "mcpServers" (or "servers", as VS Code has it) with servers by name`);
  const folder = dirname(resolve(path));
  const variables = { env: process.env, folder: basename(folder) === ".vscode" ? dirname(folder) : folder };
  const servers = Object.entries(config[key]).filter(
    ([, entry]) => !(isFields(entry) && (entry.disabled === true || isOwn(entry))),
  );
  if (servers.length > MOST_SERVERS)
    throw invalidFile(
      path,
      `it has ${servers.length} servers, at most ${MOST_SERVERS} are connected to: disable the others`,
    );
  const policyMap = fieldOf(config, "portcullis") ?? {};
  if (!isFields(policyMap))
    throw invalidFile(
      path,
      `portcullis is ${describe(policyMap)}: expected an object of policies by the names of servers`,
    );
  const stray = Object.keys(policyMap).find((name) => !Object.hasOwn(config[key] as Message, name));
  if (stray !== undefined)
    throw invalidFile(path, `portcullis speaks of ${JSON.stringify(stray.slice(0, 128))}, and there is no such server`);
  const read = servers.map(([name, entry]) =>
    readEntry(`${path}: server ${JSON.stringify(name.slice(0, 128))}`, name, entry, policyMap, variables),
  );
  for (const [index, { server }] of read.entries())
    if (read.slice(0, index).some((other) => other.server.name === server.name))
      throw invalidFile(path, `another server is named ${server.name} in programs too: rename one`);
  return read;
}

/** This package's command line, as npx, a folder of commands or a folder of packages has it. */
const OWN = /(?:^|[\\/])portcullis(?:@[^\\/]{0,100}|\.(?:cmd|exe|ps1|bat))?$|portcullis[\\/]dist[\\/]src[\\/]cli\.js$/i;

/** Whether an entry starts this package's own server: it would front itself. */
function isOwn({ command, args }: Message): boolean {
  const words = [command, ...(Array.isArray(args) ? (args as unknown[]) : [])];
  return words.includes("mcp") && words.some((word) => typeof word === "string" && OWN.test(word));
}

/** What an entry says of the server itself, in the words of `fromMcp`. */
const ENTRY_RULES = pick(MCP_RULES, "command", "args", "env", "cwd", "url", "headers");

function readEntry(place: string, name: string, entry: unknown, policyMap: Message, variables: Variables) {
  if (!isFields(entry)) throw invalidFile(place, `it is ${describeSecret(entry)}, not an object`);
  const { type, command, args, env, cwd, headers, portcullis } = entry;
  const url = entry.url ?? entry.serverUrl;
  if (type === "sse")
    throw invalidFile(place, `the transport "sse" is not supported: use "http", which has replaced it`);
  if (entry.envFile !== undefined) throw invalidFile(place, "envFile is not read: name the variables in env");
  if (portcullis !== undefined && Object.hasOwn(policyMap, name))
    throw invalidFile(place, "its policy is both in the server and next to mcpServers: remove one");
  if ((command === undefined) === (url === undefined)) throw invalidFile(place, "expected either command or url");
  const { policies, settings } = readServerPolicies(
    fieldsOf(`${place}: portcullis`),
    portcullis ?? fieldOf(policyMap, name),
  );
  const fields = Object.entries(url === undefined ? { command, args, env, cwd } : { url, headers });
  const expanded = fields.map(
    ([field, value]) => [field, expandWithin(`${place}: ${field}`, value, variables)] as const,
  );
  const pairs = expanded.filter(([field, value]) => field !== "cwd" || value !== "");
  const own = checkOptions(fieldsOf(place), Object.fromEntries(pairs), ENTRY_RULES);
  const folder = own.command === undefined ? undefined : resolve(variables.folder, own.cwd ?? "");
  return { server: { ...own, cwd: folder, ...settings, name: cleanPath(name) }, policies };
}
