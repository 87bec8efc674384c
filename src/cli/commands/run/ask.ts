import type { CommandOptions, ASK } from "../../command-options.ts";
import { checkExecution, optionalJournal } from "../../input/open-journal.ts";
import { loadFallbacks, loadModel } from "../../input/load-model.ts";
import { showConversation } from "../../terminal/executions/conversation-lines.ts";
import { given } from "../../../option-rules/given.ts";
import { openRuntime } from "./open-runtime.ts";

/**
 * `portcullis ask`: gives a model a task. The model's text is streamed to standard output, calls and programs to standard
 * error. Resolves with the exit code, which is 0 only for an answer.
 */
export async function ask(task: string, options: CommandOptions<typeof ASK>): Promise<number> {
  const { stream, baseUrl, execution, tenant, approveProgram = false } = options;
  checkExecution(execution, options.journal);
  const models = { stream, ...given({ baseUrl }) };
  const model = await loadModel(options.model, models);
  const fallbacks = await loadFallbacks(options.fallback, models);
  using journal = optionalJournal(options.journal);
  const more = { tellsCalls: true, limits: options.limit, approvePrograms: approveProgram, ...given({ tenant }) };
  await using open = await openRuntime(options, journal, more);
  const { runtime, signal, screen } = open;
  const { context: documents, reasoning: effort, programs, maxTurns, instructions } = options;
  const { toolChoice, parallelCalls, maxOutputTokens, answer } = options;
  const report = await runtime.agent<unknown>({
    model,
    task,
    signal,
    ...(documents.length === 0 ? {} : { documents }),
    ...(fallbacks.length === 0 ? {} : { fallbacks }),
    ...(parallelCalls ? {} : { parallelCalls }),
    ...given({ execution, programs, maxTurns, instructions, toolChoice, maxOutputTokens, answer }),
    ...given({ reasoning: effort && { effort }, onEvent: options.json ? undefined : showConversation(screen) }),
  });
  return await open.end(open.printAgent(report), report.artifacts);
}
