import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import packageJson from "../package.json" with { type: "json" };

/** The public names. Each is a promise, so a new one is written here by hand. */
const NAMES: Readonly<Record<string, { readonly values: string; readonly types: string }>> = {
  portcullis: {
    values: `
      PortcullisError agentAsTool anthropic content createRuntime createSqliteJournal defineTextTool defineTool fromAiSdk fromAnthropic fromMcp fromMcpConfig fromOpenAIAgents
      fromOpenApi gemini jsonSchema openai openaiChat redactSecrets webSearch`,
    types: `
      AgentEnding AgentEvent AgentOptions AgentReport AgentToolOptions ApprovalRequest Approve AsToolOptions CallAnswer CallContext CallOptions Caller ClientResult Content Conversation ConversationOptions Decision DeclarationOptions DeriveOptions Effect ErrorCode ExecuteOptions ExecutionEvent ExecutionHandle ExecutionId FoundTool JsonSchema Limits Logger LoopTools McpServer McpSource OpenApiOptions OpenApiPolicies OpenApiSource Outcome PartHandle PartInput RecoverOptions RecoveredConversation RecoveredExecution Redact RedactFinding RedactRequest Report ResumeAgentOptions ResumeOptions Runtime RuntimeOptions Schema SearchOptions SearchToolsOptions SqliteJournal SqliteJournalOptions TextToolOptions Tool ToolAudience ToolOptions ToolPolicies ToolPolicy ToolSet Unrecovered`,
  },
  "portcullis/agents": {
    values: `
      loadAgents taskTool`,
    types: `
      LoadAgentsOptions`,
  },
  "portcullis/comparison": {
    values: `
      compare countTokens`,
    types: `
      CompareOptions Comparison ComparisonTask Mode ModeMeasure ProviderMeasure ProviderName Spent`,
  },
  "portcullis/fleet": {
    values: `
      createFleet createPostgresJournal`,
    types: `
      Fleet FleetFigures FleetOptions FleetRuntime PostgresJournal PostgresJournalOptions QueuedWakes StatementOptions SubmitOptions WorkOptions Worker`,
  },
  "portcullis/journal": {
    values: `
      createMemoryJournal exportLines importLines readLines`,
    types: `
      AppendOptions Appended ExecuteSql ExecutionSummary Head Header Journal JournalFinding JournalProblem JournalRecord Lease ListOptions MemoryJournalOptions PruneOptions ReadOptions StoredJournal ToolDigest WorkerNeeds`,
  },
  "portcullis/models": {
    values: `
      `,
    types: `
      AnthropicOptions CallResult Citation ContentPart HostedNews HostedTool MessagePart Model ModelCall ModelConversation ModelSettings ModelTurn ModelUsage OpenAiOptions Opening
      ProgramDeclaration Provenance ProviderFailure ProviderOptions Reasoning ToolChoice
      ToolDeclaration TurnEnd TurnReply TurnRequest UserMessage`,
  },
  "portcullis/policy": {
    values: `
      `,
    types: `
      Grant GrantLeft Policy PolicyAnswer PolicyName PolicyRequest`,
  },
  "portcullis/reports": {
    values: `
      `,
    types: `
      AgentUsage CallEvent CallLine CallOutcome ContextDocument ConversationStatus CrashCode Divergence ExecutionStatus FailureCode FailureEntry Fault Instructions ListedExecution Logs Notice
      Output
      ProgramsOption RefusalCode ReportArtifact SaidMessage SendOptions Step StoppedBy Transcript TranscriptTurn
      Usage Waiting WaitingApproval WaitingCall`,
  },
  "portcullis/sandboxes": {
    values: `
      createDockerSandbox createIsolateSandbox`,
    types: `
      Connection DockerSandboxOptions EgressOptions Exit Guest IsolateSandboxOptions KillReason
      OpenOptions ResourceUsage Sandbox SandboxLimits`,
  },
  "portcullis/serve": {
    values: `
      createServer verifyWebhook`,
    types: `
      AnsweredRequest CloseOptions ListenOptions Listening PortcullisServer ServerOptions WebhookBody WebhookEvent WebhookOptions WebhookVerification`,
  },
  "portcullis/testing": {
    values: `
      createMemorySandbox scriptedModel`,
    types: `
      GuestFace MemorySandboxOptions ScriptedCall ScriptedModel ScriptedModelOptions ScriptedMoment
      ScriptedStep ScriptedTurn`,
  },
  "portcullis/workspace": {
    values: `
      workspaceTools`,
    types: `
      WorkspaceOptions`,
  },
};

/** Names of the main entry, types included. */
const MAX_MAIN_NAMES = 90;

const root = fileURLToPath(new URL("..", import.meta.url));
const wordsOf = (text: string) =>
  text
    .trim()
    .split(/\s+/)
    .filter((word) => word !== "");

const entries = Object.entries(packageJson.exports).flatMap(([path, entry]) =>
  typeof entry === "string" ? [] : [{ name: `portcullis${path.slice(1)}`, ...entry }],
);

/** An entry has nothing but `export { … } from` and `export type { … } from`, so that its names can be read. */
const STATEMENT = /^export (type )?\{([^{}]*)\} from "[^"]+";\n/gm;

function namesIn(file: string): { readonly values: string[]; readonly types: string[] } {
  const source = readFileSync(root + file, "utf8");
  expect(source.replaceAll(STATEMENT, "").trim()).toBe("");
  const names = { values: [] as string[], types: [] as string[] };
  for (const [, type, list = ""] of source.matchAll(STATEMENT))
    for (const name of list
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""))
      if (type === undefined && !name.startsWith("type ")) names.values.push(name);
      else names.types.push(name.replace("type ", ""));
  return { values: names.values.toSorted(), types: names.types.toSorted() };
}

test("every entry of the package is in the table, and every one of the table is in the package", () => {
  expect(entries.map(({ name }) => name).toSorted()).toEqual(Object.keys(NAMES).toSorted());
});

describe.each(entries)("$name", ({ name, types, "portcullis-source": source, default: built }) => {
  test("has the names of the table", () => {
    const { values = "", types: typeNames = "" } = NAMES[name] ?? {};
    expect(namesIn(source)).toEqual({ values: wordsOf(values), types: wordsOf(typeNames) });
  });

  test("gives the values of the table, and no others", async () => {
    const found: object = await import(new URL(source, new URL("..", import.meta.url)).href);
    expect(Object.keys(found).toSorted()).toEqual(namesIn(source).values);
  });

  test("is built from its source", () => {
    // The files of an entry stand beside the others, whose code and types they share.
    const file = `./dist/src/${name.split("/")[1] ?? "index"}`;
    expect([types, built]).toEqual([`${file}.d.ts`, `${file}.js`]);
  });
});

test("no name stands in two entries, which have at most 230 together", () => {
  const names = entries.flatMap(({ "portcullis-source": source }) => Object.values(namesIn(source)).flat());
  expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
  expect(names.length).toBeLessThanOrEqual(230);
});

test("the main entry has fewer than 90 names", () => {
  const { values, types } = namesIn("src/index.ts");
  expect(values.length + types.length).toBeLessThan(MAX_MAIN_NAMES);
});
