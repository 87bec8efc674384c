import { join } from "node:path";
import type { OptionPresence, OptionRule } from "../../src/base/index.ts";
import { sentencesOf } from "../support/rule-sentences.ts";
import { root } from "../support/snippets.ts";

/** An options object: where a caller writes it, and where its rules stand. */
export interface OptionsObject {
  /** As errors name it: `createRuntime(options)`. */
  readonly title: string;
  readonly file: string;
  readonly rules: string;
  /** The interface whose fields have the sentences, if the rules have none. */
  readonly sentencesIn?: string;
  /** Whether what is left out is decided elsewhere, as the sentences say, and not by the rules' defaults. */
  readonly hasOwnDefaults?: true;
  /** A sentence below the heading. */
  readonly about?: string;
}

export interface OptionEntry {
  readonly name: string;
  readonly sentence: string;
  readonly rule: OptionRule<unknown, OptionPresence>;
}

const HOST = "runtime/options";
const METHODS = "runtime/options";
const AGENT = "conversations/agent-options";
const DEFINE_TOOL = "tools/tool";
const OF_TOOLS = "Errors have the code `tool_invalid`.";
const FILES = "JSON, checked in the same way.";

type More = Pick<OptionsObject, "sentencesIn" | "hasOwnDefaults" | "about">;
/** An options object by its title, the file of `src` that has its rules, and their name. */
const at = (title: string, file: string, rules: string, more: More = {}): OptionsObject => ({
  title,
  file: `src/${file}.ts`,
  rules,
  ...more,
});

/** All options objects of the public functions, in the order of the page. What an option is, its rule says. */
export const OPTIONS_OBJECTS: Readonly<Record<string, readonly OptionsObject[]>> = {
  "A runtime": [
    at("createRuntime(options)", HOST, "RUNTIME_RULES"),
    at("createRuntime({ executions })", "runtime/work-under-way", "PLACES_RULES"),
    at("createRuntime({ search })", HOST, "SEARCH_RULES"),
    at("createRuntime({ telemetry })", "gate/telemetry/options", "TELEMETRY_RULES"),
    at("limits", "executions/limits", "LIMIT_RULES", {
      about:
        "Of `createRuntime`, `execute`, `agent`, `conversation`, and `derive`, of a key, of a task of `bench`, and of `--limit name=value`. What happens when a limit is reached: [limits and endings](limits-and-endings.md#limits).",
    }),
    at("runtime.derive(options)", METHODS, "DERIVE_RULES"),
    at("runtime.declarations(options)", "tools/declarations/declarations", "DECLARATION_RULES"),
    at("runtime.searchTools(query, limit, options)", METHODS, "SEARCH_TOOLS_RULES"),
    at("runtime.asTool(loop, options)", "frameworks/loops", "AS_TOOL_RULES"),
  ],
  Tools: [
    at("defineTool(options)", DEFINE_TOOL, "TOOL_RULES", { about: OF_TOOLS }),
    at("defineTextTool(options)", "tools/text-format", "FORMAT_RULES", {
      about: `The options of \`defineTool\` without \`inputSchema\` and \`unknownFields\`, and this one. ${OF_TOOLS}`,
    }),
    at("defineTool({ retry })", DEFINE_TOOL, "RETRY_RULES", { about: `Also in a policy. ${OF_TOOLS}` }),
    at("defineTool({ rate })", DEFINE_TOOL, "RATE_RULES", { about: `Also in a policy. ${OF_TOOLS}` }),
    at("content(options)", "tools/content", "CONTENT_RULES"),
    at("workspaceTools(options)", "sources/workspace/workspace-tools", "WORKSPACE_RULES", {
      about: "Of `portcullis/workspace`: [the files of a folder](workspace.md).",
    }),
    at("A policy", "sources/tool-policy", "POLICY_RULES", {
      hasOwnDefaults: true,
      about: "The second argument of `fromMcp`, `fromOpenApi` and of the functions that take over tools of other SDKs.",
    }),
  ],
  "Tools of others": [
    at("fromMcp(server)", "sources/mcp/mcp-options", "MCP_RULES"),
    at("fromMcp({ auth })", "sources/mcp/auth/auth-option", "OAUTH_RULES", {
      about: "Of OAuth: [access to a server](sources.md#access-to-a-server).",
    }),
    at("A server in .mcp.json: portcullis", "sources/mcp/config/mcp-config", "FILE_SERVER_RULES", {
      hasOwnDefaults: true,
      about: FILES,
    }),
    at("fromOpenApi(options)", "sources/openapi/from-openapi", "SOURCE_RULES"),
    at("fromOpenApi({ auth: { basic } })", "sources/openapi/secrets", "BASIC_RULES"),
    at("fromOpenApi({ auth: { apiKey } })", "sources/openapi/secrets", "API_KEY_RULES"),
    at("A file of --openapi", "cli/input/open-tools", "OPENAPI_FILE_RULES", { about: FILES }),
    at("A file of --openapi: portcullis", "sources/file-policies", "FILE_RULES", {
      hasOwnDefaults: true,
      about: FILES,
    }),
  ],
  "Programs and calls": [
    at("runtime.execute(program, options)", "executions/execute-options", "EXECUTE_RULES"),
    at("execution.resume(options)", "executions/resume-options", "RESUME_RULES"),
    at("runtime.recover(options)", "runtime/executions/recover-options", "RECOVER_RULES"),
    at("fleet.submit(runtime, program, options)", "runtime/fleet", "SUBMIT_RULES"),
    at("fleet.work(runtime, options)", "runtime/fleet", "WORK_RULES"),
    at("createFleet(options)", "fleet/fleet", "FLEET_RULES"),
    at("runtime.executions.list(options)", METHODS, "LIST_RULES"),
    at("runtime.execution(id, options)", METHODS, "OF_TENANT_RULES"),
    at("execution.wait, decide and answer", METHODS, "SIGNAL_RULES"),
    at("A decision", "executions/decide", "DECISION_FIELDS", {
      about: "By call id, in `execution.decide(decisions)` and `execution.resume({ decisions })`.",
    }),
    at("A grant", "gate/approve/grant-terms", "GRANT_FIELDS", {
      sentencesIn: "Grant",
      about: "`grant` of a decision, and of what `approve` answers.",
    }),
    at("runtime.call(options)", METHODS, "CALL_RULES"),
  ],
  Conversations: [
    at("runtime.agent(options)", AGENT, "AGENT_RULES"),
    at("runtime.agent({ settings })", "conversations/conversation-settings", "CONVERSATION_SETTINGS", {
      about: "Also of `conversation`, `send` and `agentAsTool`.",
    }),
    at("runtime.agent({ loop })", AGENT, "LOOP_RULES", {
      about:
        "Also of `conversation` and `send`. `execution.resume` takes `stopWhen` and `compact`; `agentAsTool` and `loadAgents` `stopWhen`, `maxTurns` and `maxTokens`.",
    }),
    at("runtime.conversation(options)", AGENT, "HELD_RULES"),
    at("execution.send(message, options)", AGENT, "SEND_RULES"),
    at("execution.resume({ model, … })", AGENT, "RESUME_AGENT_RULES"),
    at("agentAsTool(options)", "conversations/as-tools/agent-as-tool", "AGENT_TOOL_RULES"),
    at("loadAgents(folder, options)", "conversations/files/agent-file", "LOAD_AGENTS_RULES", {
      about: "Of `portcullis/agents`.",
    }),
  ],
  Models: [
    at("anthropic, openai, openaiChat and gemini", "models/provider/provider-options", "PROVIDER_RULES"),
    at("anthropic", "models/provider/providers", "ANTHROPIC_OPTIONS", { about: "Besides those of all providers." }),
    at("openai", "models/provider/providers", "OPENAI_OPTIONS", { about: "Besides those of all providers." }),
    at("webSearch(options)", "models/hosted-tools", "WEB_SEARCH_RULES"),
    at("scriptedModel(script, options)", "models/scripted", "SCRIPTED_RULES"),
  ],
  Journals: [
    at("createSqliteJournal(options)", "journal/sqlite/sqlite-journal", "SQLITE_JOURNAL_RULES"),
    at("createPostgresJournal(options)", "fleet/postgres/postgres-options", "POSTGRES_JOURNAL_RULES"),
    at("journal.prune(options)", "journal/stored-journal", "PRUNE_RULES"),
    at("createMemoryJournal(options)", "journal/memory-journal", "MEMORY_JOURNAL_RULES"),
  ],
  Sandboxes: [
    at("createIsolateSandbox(options)", "sandboxes/isolate/pool-options", "ISOLATE_RULES"),
    at("createDockerSandbox(options)", "sandboxes/docker/docker-options", "DOCKER_RULES"),
    at("createDockerSandbox({ egress })", "sandboxes/docker/egress/egress-plan", "EGRESS_RULES"),
    at("createMemorySandbox(options)", "sandboxes/memory-sandbox", "MEMORY_RULES"),
  ],
  "A server": [
    at("createServer(runtime, options)", "serve/server-options", "SERVER_RULES"),
    at("server.listen(options)", "serve/server-options", "LISTEN_RULES"),
    at("server.close(options)", "serve/server-options", "CLOSE_RULES"),
    at("A webhook", "serve/webhooks/webhook-options", "WEBHOOK_RULES", {
      about: "In the list `webhooks` of `createServer`.",
    }),
    at("A key", "serve/http/keys", "KEY_RULES", { about: "In the list `keys` of a file of keys." }),
    at("A key: rate", "serve/http/keys", "KEY_RATE_RULES"),
  ],
  Comparisons: [
    at("compare(runtime, task, options)", "comparison/compare", "COMPARE_RULES"),
    at("A task", "comparison/task", "TASK_RULES", { about: "The second argument of `compare`." }),
  ],
};

type Rules = Readonly<Record<string, OptionEntry["rule"]>>;

/** The options of an object, in the order of their rules. Throws if one has no sentence. */
export async function entriesOf({
  file,
  rules,
  sentencesIn = rules,
  hasOwnDefaults,
}: OptionsObject): Promise<readonly OptionEntry[]> {
  const module = (await import(join(root, file))) as Readonly<Record<string, Rules>>;
  const found = module[rules];
  if (found === undefined) throw new Error(`${file} does not export ${rules}.`);
  const sentences = sentencesOf(file, sentencesIn);
  return Object.entries(found).map(([name, rule]) => {
    const sentence = sentences.get(name);
    if (sentence === undefined) throw new Error(`${file}: ${rules}.${name} has no JSDoc that says what it is.`);
    const isOptional = hasOwnDefaults && rule.presence === "default";
    return { name, sentence, rule: isOptional ? { ...rule, presence: "optional" } : rule };
  });
}
