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

const HOST = "src/runtime/options.ts";
const METHODS = "src/runtime/method-options.ts";
const AGENT = "src/conversations/agent-options.ts";
const DEFINE_TOOL = "src/tools/tool.ts";
const OF_TOOLS = "Errors have the code `tool_invalid`.";
const FILES = "JSON, checked in the same way.";

/** All options objects of the public functions, in the order of the page. What an option is, its rule says. */
export const OPTIONS_OBJECTS: Readonly<Record<string, readonly OptionsObject[]>> = {
  "A runtime": [
    { title: "createRuntime(options)", file: HOST, rules: "RUNTIME_RULES" },
    { title: "createRuntime({ executions })", file: "src/runtime/execution-places.ts", rules: "PLACES_RULES" },
    { title: "createRuntime({ search })", file: HOST, rules: "SEARCH_RULES" },
    { title: "createRuntime({ telemetry })", file: "src/gate/telemetry/options.ts", rules: "TELEMETRY_RULES" },
    {
      title: "limits",
      file: "src/executions/limits.ts",
      rules: "LIMIT_RULES",
      about:
        "Of `createRuntime`, `execute`, `agent`, `conversation`, and `derive`, of a key, of a task of `bench`, and of `--limit name=value`. What happens when a limit is reached: [limits and endings](limits-and-endings.md#limits).",
    },
    { title: "runtime.derive(options)", file: METHODS, rules: "DERIVE_RULES" },
    {
      title: "runtime.declarations(options)",
      file: "src/tools/declarations/declarations.ts",
      rules: "DECLARATION_RULES",
    },
    { title: "runtime.searchTools(query, limit, options)", file: METHODS, rules: "SEARCH_TOOLS_RULES" },
    { title: "runtime.asTool(loop, options)", file: "src/frameworks/loops.ts", rules: "AS_TOOL_RULES" },
  ],
  Tools: [
    { title: "defineTool(options)", file: DEFINE_TOOL, rules: "TOOL_RULES", about: OF_TOOLS },
    {
      title: "defineTextTool(options)",
      file: "src/tools/text-format.ts",
      rules: "FORMAT_RULES",
      about: `The options of \`defineTool\` without \`inputSchema\` and \`unknownFields\`, and this one. ${OF_TOOLS}`,
    },
    { title: "defineTool({ retry })", file: DEFINE_TOOL, rules: "RETRY_RULES", about: `Also in a policy. ${OF_TOOLS}` },
    { title: "defineTool({ rate })", file: DEFINE_TOOL, rules: "RATE_RULES", about: `Also in a policy. ${OF_TOOLS}` },
    { title: "content(options)", file: "src/tools/content.ts", rules: "CONTENT_RULES" },
    {
      title: "workspaceTools(options)",
      file: "src/sources/workspace/workspace-tools.ts",
      rules: "WORKSPACE_RULES",
      about: "Of `portcullis/workspace`: [the files of a folder](workspace.md).",
    },
    {
      title: "A policy",
      file: "src/sources/tool-policy.ts",
      rules: "POLICY_RULES",
      hasOwnDefaults: true,
      about: "The second argument of `fromMcp`, `fromOpenApi` and of the functions that take over tools of other SDKs.",
    },
  ],
  "Tools of others": [
    { title: "fromMcp(server)", file: "src/sources/mcp/mcp-options.ts", rules: "MCP_RULES" },
    {
      title: "fromMcp({ auth })",
      file: "src/sources/mcp/auth/auth-option.ts",
      rules: "OAUTH_RULES",
      about: "Of OAuth: [access to a server](sources.md#access-to-a-server).",
    },
    {
      title: "A server in .mcp.json: portcullis",
      file: "src/sources/mcp/config/mcp-config.ts",
      rules: "FILE_SERVER_RULES",
      hasOwnDefaults: true,
      about: FILES,
    },
    { title: "fromOpenApi(options)", file: "src/sources/openapi/from-openapi.ts", rules: "SOURCE_RULES" },
    { title: "fromOpenApi({ auth: { basic } })", file: "src/sources/openapi/secrets.ts", rules: "BASIC_RULES" },
    { title: "fromOpenApi({ auth: { apiKey } })", file: "src/sources/openapi/secrets.ts", rules: "API_KEY_RULES" },
    {
      title: "A file of --openapi",
      file: "src/cli/input/openapi-file.ts",
      rules: "OPENAPI_FILE_RULES",
      about: FILES,
    },
    {
      title: "A file of --openapi: portcullis",
      file: "src/sources/file-policies.ts",
      rules: "FILE_RULES",
      hasOwnDefaults: true,
      about: FILES,
    },
  ],
  "Programs and calls": [
    { title: "runtime.execute(program, options)", file: "src/executions/execute-options.ts", rules: "EXECUTE_RULES" },
    { title: "execution.resume(options)", file: "src/executions/resume-options.ts", rules: "RESUME_RULES" },
    { title: "runtime.recover(options)", file: "src/runtime/executions/recover-options.ts", rules: "RECOVER_RULES" },
    { title: "fleet.submit(runtime, program, options)", file: "src/runtime/fleet.ts", rules: "SUBMIT_RULES" },
    { title: "fleet.work(runtime, options)", file: "src/runtime/fleet.ts", rules: "WORK_RULES" },
    { title: "createFleet(options)", file: "src/fleet/fleet.ts", rules: "FLEET_RULES" },
    { title: "runtime.executions.list(options)", file: METHODS, rules: "LIST_RULES" },
    { title: "runtime.execution(id, options)", file: METHODS, rules: "OF_TENANT_RULES" },
    { title: "execution.wait, decide and answer", file: METHODS, rules: "SIGNAL_RULES" },
    {
      title: "A decision",
      file: "src/executions/decide.ts",
      rules: "DECISION_FIELDS",
      about: "By call id, in `execution.decide(decisions)` and `execution.resume({ decisions })`.",
    },
    {
      title: "A grant",
      file: "src/gate/approve/grant-terms.ts",
      rules: "GRANT_FIELDS",
      sentencesIn: "Grant",
      about: "`grant` of a decision, and of what `approve` answers.",
    },
    { title: "runtime.call(options)", file: METHODS, rules: "CALL_RULES" },
  ],
  Conversations: [
    { title: "runtime.agent(options)", file: AGENT, rules: "AGENT_RULES" },
    {
      title: "runtime.agent({ settings })",
      file: "src/conversations/conversation-settings.ts",
      rules: "CONVERSATION_SETTINGS",
      about: "Also of `conversation`, `send` and `agentAsTool`.",
    },
    {
      title: "runtime.agent({ loop })",
      file: AGENT,
      rules: "LOOP_RULES",
      about:
        "Also of `conversation` and `send`. `execution.resume` takes `stopWhen` and `compact`; `agentAsTool` and `loadAgents` `stopWhen`, `maxTurns` and `maxTokens`.",
    },
    { title: "runtime.conversation(options)", file: AGENT, rules: "HELD_RULES" },
    { title: "execution.send(message, options)", file: AGENT, rules: "SEND_RULES" },
    { title: "execution.resume({ model, … })", file: AGENT, rules: "RESUME_AGENT_RULES" },
    { title: "agentAsTool(options)", file: "src/conversations/as-tools/agent-as-tool.ts", rules: "AGENT_TOOL_RULES" },
    {
      title: "loadAgents(folder, options)",
      file: "src/conversations/files/load-agents.ts",
      rules: "LOAD_AGENTS_RULES",
      about: "Of `portcullis/agents`.",
    },
  ],
  Models: [
    {
      title: "anthropic, openai, openaiChat and gemini",
      file: "src/models/provider/provider-options.ts",
      rules: "PROVIDER_RULES",
    },
    {
      title: "anthropic",
      file: "src/models/provider/providers.ts",
      rules: "ANTHROPIC_OPTIONS",
      about: "Besides those of all providers.",
    },
    {
      title: "openai",
      file: "src/models/provider/providers.ts",
      rules: "OPENAI_OPTIONS",
      about: "Besides those of all providers.",
    },
    { title: "webSearch(options)", file: "src/models/hosted-tools.ts", rules: "WEB_SEARCH_RULES" },
    { title: "scriptedModel(script, options)", file: "src/models/scripted.ts", rules: "SCRIPTED_RULES" },
  ],
  Journals: [
    {
      title: "createSqliteJournal(options)",
      file: "src/journal/sqlite/sqlite-journal.ts",
      rules: "SQLITE_JOURNAL_RULES",
    },
    {
      title: "createPostgresJournal(options)",
      file: "src/fleet/postgres/postgres-options.ts",
      rules: "POSTGRES_JOURNAL_RULES",
    },
    { title: "journal.prune(options)", file: "src/journal/stored-journal.ts", rules: "PRUNE_RULES" },
    { title: "createMemoryJournal(options)", file: "src/journal/memory-journal.ts", rules: "MEMORY_JOURNAL_RULES" },
  ],
  Sandboxes: [
    { title: "createIsolateSandbox(options)", file: "src/sandboxes/isolate/pool-options.ts", rules: "ISOLATE_RULES" },
    { title: "createDockerSandbox(options)", file: "src/sandboxes/docker/docker-options.ts", rules: "DOCKER_RULES" },
    {
      title: "createDockerSandbox({ egress })",
      file: "src/sandboxes/docker/egress/egress-plan.ts",
      rules: "EGRESS_RULES",
    },
    { title: "createMemorySandbox(options)", file: "src/sandboxes/memory-sandbox.ts", rules: "MEMORY_RULES" },
  ],
  "A server": [
    { title: "createServer(runtime, options)", file: "src/serve/server-options.ts", rules: "SERVER_RULES" },
    { title: "server.listen(options)", file: "src/serve/server-options.ts", rules: "LISTEN_RULES" },
    { title: "server.close(options)", file: "src/serve/server-options.ts", rules: "CLOSE_RULES" },
    {
      title: "A webhook",
      file: "src/serve/webhooks/webhook-options.ts",
      rules: "WEBHOOK_RULES",
      about: "In the list `webhooks` of `createServer`.",
    },
    {
      title: "A key",
      file: "src/serve/http/keys.ts",
      rules: "KEY_RULES",
      about: "In the list `keys` of a file of keys.",
    },
    { title: "A key: rate", file: "src/serve/http/keys.ts", rules: "RATE_RULES" },
  ],
  Comparisons: [
    { title: "compare(runtime, task, options)", file: "src/comparison/compare.ts", rules: "COMPARE_RULES" },
    {
      title: "A task",
      file: "src/comparison/task.ts",
      rules: "TASK_RULES",
      about: "The second argument of `compare`.",
    },
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
