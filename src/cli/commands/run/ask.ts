import { standardStreams, writeStderr, writeStdout } from "../../terminal/standard-streams.ts";
import type { AgentEvent } from "../../../agent/event.ts";
import { outcomeText } from "../../../gate/answer.ts";
import { counted } from "../../../output/count-text.ts";
import { insetText } from "../../../output/foreign-text.ts";
import type { CommandOptions, ASK } from "../../command-options.ts";
import type { Screen } from "../../terminal/screen.ts";
import { checkExecution, optionalJournal } from "../../input/open-journal.ts";
import { loadFallbacks, loadModel } from "../../input/load-model.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { statusLine } from "../../terminal/status-line.ts";
import { given } from "../../../option-rules/given.ts";
import { RUN_PROGRAM } from "../../../tools/tool-name.ts";
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

/**
 * The text comes from the model, a tool or a program: it may contain terminal control sequences, or imitate the lines
 * printed here. So names stay within their line, and programs are indented.
 */
function showConversation(screen: Screen): (event: AgentEvent) => void {
  let conversation: string | undefined;
  let inLine = false;
  const showWriting = createWriting(standardStreams().stderr, screen);
  const show = (event: AgentEvent) => {
    conversation ??= event.execution;
    if (event.execution === conversation) showWriting(event);
    // Text of agents that are tools is not part of the answer, and several may write at once.
    if (event.type === "text" && event.execution !== conversation) return;
    if (event.type === "text" && event.text !== "") {
      writeStdout(event.text);
      inLine = !event.text.endsWith("\n");
    } else if ((event.type === "turn_ended" || event.type === "conversation_ended") && inLine) {
      writeStdout("\n");
      inLine = false;
    } else showWork(event);
  };
  return (event) => screen.show(() => show(event));
}

function showWork(event: AgentEvent): void {
  const note = (text: string) => writeStderr(`${text}\n`);
  switch (event.type) {
    case "model_changed":
      note(`${oneLine(event.model)} goes on: the model before it failed`);
      break;
    case "program_started":
      note(`\n── program${event.hosted ? " at the provider" : ""} ──\n${insetText(event.source.trimEnd())}\n──`);
      break;
    case "program_ended":
      note(`program ${event.isError ? "failed" : "done"}`);
      break;
    case "call_ended": {
      const { tool, caller, outcome, ms, items } = event;
      const after = items === undefined || outcome.type === "value" ? "" : ` after ${counted(items, "item")}`;
      note(
        `${caller === "direct" ? "call" : "  call from the program"}: ${oneLine(tool)} → ${oneLine(outcomeText(outcome))}${after}, ${Math.round(ms)} ms`,
      );
      break;
    }
    default:
  }
}

/** Text that is kept of what a model writes, and shown of it, in UTF-16 code units. */
const KEPT_LENGTH = 2000;
const SHOWN_LENGTH = 60;

/**
 * Shows on a terminal, in one line that changes, the line of a program that its model is writing. The line is removed
 * once the program is whole, which is then shown when it runs.
 */
function createWriting(stream: NodeJS.WriteStream, screen: Screen): (event: AgentEvent) => void {
  let written = "";
  // The input is JSON while it is written: its line breaks are written as `\\n`.
  const lineOf = () => (written === "" ? "" : `… ${(written.split(/\n|\\n/).at(-1) ?? "").slice(-SHOWN_LENGTH)}`);
  const line = statusLine(lineOf, { stream, screen });
  return (event) => {
    if (event.type === "conversation_ended") line[Symbol.dispose]();
    const isWriting = event.type === "argument" && event.tool === RUN_PROGRAM;
    if (!isWriting && (written === "" || event.type === "argument")) return;
    written = isWriting ? (written + event.text).slice(-KEPT_LENGTH) : "";
    line.draw();
  };
}
