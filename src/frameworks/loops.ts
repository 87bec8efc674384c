import {
  array,
  bareFunction,
  checkValue,
  isFields,
  oneOf,
  option,
  optionError,
  type OptionsOf,
  readOptions,
  type CheckedOptions,
} from "../base/index.ts";
import type { SearchInput } from "../tools/search/index.ts";
import { APPROVE, CONTEXT, idText, type WithContext } from "../executions/execute-options.ts";
import { aiSdkPausingTools, type AiSdkProgramTool, aiSdkTool, type ToolApproval } from "./ai-sdk.ts";
import { type Interrupt, langChainPausingTool, type LangChainTool, langChainTool } from "./langchain.ts";
import {
  type InputGuardrail,
  type NeedsApproval,
  agentsPausingTools,
  type AgentsTool,
  agentsTool,
} from "./openai-agents.ts";
import { pausingTools } from "./approval/pausing-tools.ts";
import { type WaitingPrograms, waitingPrograms } from "./approval/waiting-programs.ts";
import { type AnthropicRunnable, anthropicRunnable } from "./anthropic.ts";
import type { McpSearchFields, McpTool } from "./mcp.ts";
import { type LoopTool, type ProgramHost, type ProgramTool, programTool, callSearch } from "./program-tool.ts";

const SUBJECT = "asTool";

export const AS_TOOL_RULES = {
  /** The host's own value for all programs of the tool. Handlers and `approve` get it; a program and a model do not. */
  context: CONTEXT,
  /**
   * Decides about calls that need approval, in place of the runtime's `approve`. If neither is given, an MCP client
   * asks its user if it can; otherwise the call is denied.
   */
  approve: APPROVE,
  /**
   * Of the AI SDK: what `generateText` gets as `toolApproval`. It decides the calls that programs make as it decides those
   * of a model. A call that needs a person makes `run_program` need approval; `continue_program` goes on with it.
   */
  toolApproval: option<ToolApproval>(
    "a function, or statuses and functions by the names of tools",
    (value) => typeof value === "function" || isFields(value),
  ),
  /**
   * Of OpenAI Agents: `needsApproval` of the calls that programs make, for all or by the names of tools. A call that needs a
   * person interrupts the run, as does one whose tool needs approval.
   */
  needsApproval: option<NeedsApproval>(
    "true, false, a function, or these by the names of tools",
    (value) => typeof value === "boolean" || typeof value === "function" || isFields(value),
  ),
  /** Of OpenAI Agents: tool input guardrails, which check the calls that programs make. */
  inputGuardrails: array<InputGuardrail>("an array of tool input guardrails"),
  /** Of LangGraph: its `interrupt`, for a graph with a checkpointer. A call that needs a person interrupts the node. */
  interrupt: bareFunction<Interrupt>(),
  /**
   * Id of the conversation, required with `toolApproval`, `needsApproval` and `inputGuardrails`: the programs that wait are
   * found by it, also by another process. Each conversation has an id of its own, and so tools of its own. LangGraph has its
   * `thread_id`.
   */
  conversation: idText("a name"),
};

/** The options by which each loop asks people with its own means. */
const OWN_MEANS: Readonly<Record<string, readonly (keyof typeof AS_TOOL_RULES)[]>> = {
  "ai-sdk": ["toolApproval"],
  "openai-agents": ["needsApproval", "inputGuardrails"],
  langchain: ["interrupt"],
};

type OwnOptions = CheckedOptions<typeof AS_TOOL_RULES>;

export type AsToolOptions<Context = unknown> = WithContext<OptionsOf<typeof AS_TOOL_RULES>, Context>;

/**
 * `continue_program` comes with the loop's own means; `search_tools` if the tools for programs are too many to be listed in
 * the description of `run_program`. Not an interface: loops take records of tools.
 */
type ToolsOf<Program, Continue = never, Search = Program> = {
  readonly run_program: Program;
  readonly continue_program?: Continue;
  readonly search_tools?: Search;
};

/** The tools of each loop, by the name that the model calls them by. */
export interface LoopTools {
  /** For `tools` of the AI SDK's `generateText` and `streamText`, and of a Mastra agent. */
  readonly "ai-sdk": ToolsOf<
    AiSdkProgramTool,
    AiSdkProgramTool<{ readonly program: string }>,
    AiSdkProgramTool<SearchInput>
  >;
  /** For `tools` of the tool runner of `@anthropic-ai/sdk`. */
  readonly anthropic: ToolsOf<AnthropicRunnable>;
  /** For `tools` of an `Agent` of OpenAI Agents. */
  readonly "openai-agents": ToolsOf<AgentsTool, AgentsTool>;
  /** For `tool(func, fields)` of `@langchain/core/tools`: its `func` and `fields`. */
  readonly langchain: ToolsOf<LangChainTool>;
  /** For `registerTool` of an MCP server: its `name`, `config` and `handler`. */
  readonly mcp: ToolsOf<McpTool, never, McpTool<McpSearchFields>>;
}

export type LoopName = keyof LoopTools;

interface LoopParts {
  readonly program: ProgramTool;
  readonly own: OwnOptions;
  /** Programs that wait for people in the journal. `by`: whose approvals these are. */
  readonly waiting: (by: string, node?: string) => WaitingPrograms;
}

interface Loop<Tools extends LoopTools[LoopName]> {
  readonly programs: (parts: LoopParts) => Tools | Promise<Tools>;
  readonly search: (search: LoopTool) => Tools["search_tools"] | Promise<Tools["search_tools"]>;
}

// It loads zod, which takes 50 ms.
const loadMcp = () => import("./mcp.ts");

const LOOPS: { readonly [Name in LoopName]: Loop<LoopTools[Name]> } = {
  "ai-sdk": {
    programs: ({ program, own: { toolApproval }, waiting }) =>
      toolApproval === undefined
        ? { run_program: aiSdkTool(program) }
        : aiSdkPausingTools(program, pausingTools(waiting("the AI SDK's tool approval")), toolApproval),
    search: aiSdkTool,
  },
  anthropic: { programs: ({ program }) => ({ run_program: anthropicRunnable(program) }), search: anthropicRunnable },
  "openai-agents": {
    programs: ({ program, own: { needsApproval, inputGuardrails }, waiting }) => {
      if (needsApproval === undefined && inputGuardrails === undefined) return { run_program: agentsTool(program) };
      const pausing = pausingTools(waiting("an approval of OpenAI Agents"));
      return agentsPausingTools(program, pausing, { needsApproval, inputGuardrails: inputGuardrails ?? [] });
    },
    search: agentsTool,
  },
  langchain: {
    programs: ({ program, own: { interrupt }, waiting }) => ({
      run_program: interrupt
        ? langChainPausingTool(program, (node) => waiting("an interrupt of LangGraph", node), interrupt)
        : langChainTool(program),
    }),
    search: langChainTool,
  },
  mcp: {
    programs: async ({ program }) => ({ run_program: (await loadMcp()).mcpTool(program) }),
    search: async (search) => (await loadMcp()).mcpSearch(search),
  },
};

export const LOOP_NAMES = Object.keys(LOOPS);

/** The tools of a loop. Rejects with `option_invalid` for an unknown loop or option. */
export async function toolsFor<Name extends LoopName>(
  loop: Name,
  options: object,
  host: ProgramHost,
): Promise<LoopTools[Name]> {
  checkValue(`${SUBJECT}(loop)`, loop, oneOf(LOOP_NAMES));
  const own = readOptions(SUBJECT, options, AS_TOOL_RULES);
  refuseOthers(loop, own);
  const { search } = host.programs();
  const { programs, search: searchOf } = LOOPS[loop] as Loop<LoopTools[Name]>;
  const waiting = (by: string, node?: string) => {
    const conversation = JSON.stringify([host.tenant, own.conversation, node]);
    return waitingPrograms({ host, context: own.context, by, conversation });
  };
  const tools = await programs({ own, program: programTool(host, own), waiting });
  if (!search) return tools;
  const call: Parameters<typeof callSearch>[1] = (input, signal) => host.search(input, own.context, signal);
  return { ...tools, search_tools: await searchOf(callSearch(search, call)) };
}

/** Refuses options by which another loop asks people, and an `approve` beside such an option: one of them would not be asked. */
function refuseOthers(loop: LoopName, own: OwnOptions): void {
  for (const [of, names] of Object.entries(OWN_MEANS))
    for (const name of names)
      if (own[name] !== undefined && of !== loop)
        throw optionError(`${SUBJECT}({ ${name} })`, `to be left out: it is for ${JSON.stringify(of)}`, own[name]);
  const optionName = OWN_MEANS[loop]?.find((name) => own[name] !== undefined);
  if (optionName !== undefined && optionName !== "interrupt" && own.conversation === undefined)
    throw optionError(`${SUBJECT}({ conversation })`, `an id of the conversation, beside ${optionName}`, undefined);
  if (optionName !== undefined && own.approve)
    throw optionError(`${SUBJECT}({ approve })`, `to be left out beside ${optionName}, which decides`, own.approve);
}
