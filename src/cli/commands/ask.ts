import { writeStdout } from "../terminal/standard-streams.ts";
import type { AgentEvent } from "../../agent/event.ts";
import { MAX_TURNS } from "../../agent/max-turns.ts";
import { optionError } from "../../errors.ts";
import { outcomeText } from "../../gate/call-line.ts";
import { cleanText } from "../../output/clean-text.ts";
import { insetText } from "../../output/foreign-text.ts";
import { createRuntime } from "../../runtime.ts";
import { type ProgramsOption, PROGRAMS_OPTIONS } from "../../agent/transcript.ts";
import { createApprover } from "../terminal/ask-approvals.ts";
import { createScreen, type Screen } from "../terminal/screen.ts";
import { parseApprove } from "../input/parse-approve.ts";
import { cancelOnSignal } from "../terminal/cancel-on-signal.ts";
import { agentExitCodeOf } from "../exit-code.ts";
import { openTools, tellUnassigned, type ToolsOptions } from "../input/open-tools.ts";
import { journalPathOf, optionalJournal } from "../input/open-journal.ts";
import { type ConversationFlags, conversationOptions } from "../input/conversation-flags.ts";
import { createWriting } from "../terminal/show-writing.ts";
import { loadModel } from "../input/load-model.ts";
import { parseSandbox } from "../input/parse-sandbox.ts";
import { parseWhole } from "../input/parse-whole.ts";
import { createOperatorLog } from "../terminal/operator-log.ts";
import { printAgentJson, printAgentReport } from "../terminal/print-agent-report.ts";
import { makeArtifactsFolder, writeArtifacts } from "../write-artifacts.ts";
import { oneLine } from "../terminal/one-line.ts";

export interface AskOptions extends ToolsOptions, ConversationFlags {
  readonly model: string;
  readonly programs?: string;
  readonly sandbox: string;
  readonly baseUrl?: string;
  readonly maxTurns?: string;
  /** File of the journal; in memory by default. */
  readonly journal?: string;
  readonly stream: boolean;
  readonly approve: string;
  readonly approveProgram?: boolean;
  /** Folder for what programs have kept, and for results that were too large for the model. */
  readonly artifacts?: string;
  readonly json?: boolean;
}

/**
 * `portcullis ask`: gives a model a task. The model's text is streamed to standard output, calls and programs to standard
 * error. Resolves with the exit code, which is 0 only for an answer.
 */
export async function ask(task: string, options: AskOptions): Promise<number> {
  const { json = false, stream, baseUrl } = options;
  const journalPath = journalPathOf(options.journal);
  const canWait = journalPath !== undefined;
  const mode = parseApprove(options.approve, canWait);
  const programs = parsePrograms(options.programs);
  const maxTurns = options.maxTurns === undefined ? undefined : parseWhole("--max-turns", options.maxTurns, MAX_TURNS);
  const models = { stream, ...(baseUrl === undefined ? {} : { baseUrl }) };
  const model = await loadModel(options.model, models);
  const chosen = await conversationOptions(options, models);
  await makeArtifactsFolder(options.artifacts);
  await using open = await openTools(options);
  tellUnassigned(open, options);
  using cancelling = cancelOnSignal();
  const screen = createScreen();
  using approver = createApprover({ mode, screen, canWait });
  using journal = optionalJournal(journalPath);
  const operator = createOperatorLog();
  await using runtime = await createRuntime({
    tools: open.tools,
    approve: approver.approve,
    approvePrograms: options.approveProgram ?? false,
    sandbox: parseSandbox(options.sandbox),
    logger: operator,
    ...(journal ? { journal } : {}),
  });
  const report = await runtime.agent({
    ...chosen,
    model,
    task,
    signal: cancelling.signal,
    ...(programs === undefined ? {} : { programs }),
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(json ? {} : { onEvent: showConversation(screen) }),
  });
  if (json) printAgentJson(report, operator);
  else {
    printAgentReport(report, options);
    operator.print();
  }
  const written = await writeArtifacts(options.artifacts, report.artifacts);
  return report.ending.type === "cancelled" ? cancelling.exitCode : agentExitCodeOf(report.ending) || written;
}

function parsePrograms(text: string | undefined): ProgramsOption | undefined {
  const found = PROGRAMS_OPTIONS.find((option) => option === text);
  if (text !== undefined && found === undefined) throw optionError("--programs", PROGRAMS_OPTIONS.join(", "), text);
  return found;
}

/**
 * The text comes from the model, a tool or a program: it may contain terminal control sequences, or imitate the lines
 * printed here. So names stay within their line, and programs are indented.
 */
function showConversation(screen: Screen): (event: AgentEvent) => void {
  let conversation: string | undefined;
  let inLine = false;
  const showWriting = createWriting(process.stderr, screen);
  const show = (event: AgentEvent) => {
    conversation ??= event.execution;
    if (event.execution === conversation) showWriting(event);
    // Text of agents that are tools is not part of the answer, and several may write at once.
    if (event.type === "text" && event.execution !== conversation) return;
    if (event.type === "text" && event.text !== "") {
      writeStdout(cleanText(event.text));
      inLine = !event.text.endsWith("\n");
    } else if ((event.type === "turn_ended" || event.type === "conversation_ended") && inLine) {
      writeStdout("\n");
      inLine = false;
    } else showWork(event);
  };
  return (event) => screen.show(() => show(event));
}

function showWork(event: AgentEvent): void {
  const note = (text: string) => process.stderr.write(`${text}\n`);
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
      const { tool, caller, outcome, ms } = event.line;
      note(
        `${caller === "direct" ? "call" : "  call from the program"}: ${oneLine(tool)} → ${oneLine(outcomeText(outcome))}, ${Math.round(ms)} ms`,
      );
      break;
    }
    default:
  }
}
