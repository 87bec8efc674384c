import { groupedOptions } from "../../../conversations/agent-options.ts";
import type { CommandOptions, ASK } from "../../command-options.ts";
import { needsJournal, optionalJournal } from "../../input/open-journal.ts";
import { loadFallbacks, loadModel } from "../../input/load-module.ts";
import { showConversation } from "../../terminal/executions/print-report.ts";
import { INHERIT } from "../../../conversations/as-tools/agent-as-tool.ts";
import { type AgentFile, readAgentFile } from "../../../conversations/files/agent-file.ts";
import { UsageFailure } from "../../failure.ts";
import { openRuntime, printConversation } from "./open-runtime.ts";

/**
 * `portcullis ask`: gives a model a task. The model's text is streamed to standard output, calls and programs to standard
 * error. Resolves with the exit code, which is 0 only for an answer.
 */
export async function ask(task: string, options: CommandOptions<typeof ASK>): Promise<number> {
  const { stream, baseUrl, id, tenant } = options;
  needsJournal("--id", id, options.journal);
  const models = { stream, baseUrl };
  const file = await agentFile(options);
  const instructions = file?.requiredText("what the agent reads before its task") ?? options.instructions;
  const model = await loadModel(modelName(options.model, file), models);
  const fallbacks = await loadFallbacks(options.fallback, models);
  await using journal = optionalJournal(options.journal);
  await using open = await openRuntime(options, journal, { tellsCalls: true, tenant });
  const { runtime, signal, screen } = open;
  const { context: documents, set, answer } = options;
  const report = await runtime.agent<unknown>({
    ...groupedOptions(set),
    model,
    fallbacks,
    task,
    documents,
    signal,
    id,
    instructions,
    answer,
    tools: file?.narrow(open.tools),
    onEvent: options.json ? undefined : showConversation(screen),
  });
  return await open.end(printConversation(open, report), report.artifacts);
}

/** The file of `--agent`. A text for the model has one source. */
async function agentFile({ agent, instructions }: CommandOptions<typeof ASK>): Promise<AgentFile | undefined> {
  if (agent === undefined) return undefined;
  if (instructions !== undefined)
    throw new UsageFailure("--instructions: the file of --agent has the instructions. Leave one of them out.");
  const file = await readAgentFile(agent);
  file.required("name");
  file.required("description");
  return file;
}

/** The name in `--model`, or else in the agent's file. */
function modelName(named: string | undefined, file: AgentFile | undefined): string {
  const model = named ?? file?.modelFrom();
  if (typeof model === "string" && model !== INHERIT) return model;
  const missing = file ? `, because ${file.path} names none` : ", or --agent with a file that names one";
  throw new UsageFailure(`ask: expected --model${missing}: portcullis ask "…" --model PROVIDER:NAME.`);
}
