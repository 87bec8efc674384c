import type { AgentReport } from "../../../conversations/agent-report.ts";
import type { Journal } from "../../../journal/journal.ts";
import type { Header } from "../../../journal/record.ts";
import type { Logger } from "../../../gate/run/failure-log.ts";
import type { Report } from "../../../executions/output/index.ts";
import { createRuntime } from "../../../runtime/create-runtime.ts";
import type { RunningOptions } from "../../command-options.ts";
import { agentExitCodeOf, EXIT, exitCodeOf } from "../../failure.ts";
import { openAnyTools, tellUnassigned } from "../../input/open-tools.ts";
import { refuseLater } from "../../input/option-values.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { createApprover, Screen } from "../../terminal/executions/ask-approvals.ts";
import {
  type OperatorEntry,
  operatorEntry,
  printAgentReport,
  printFailures,
  printReport,
} from "../../terminal/executions/print-report.ts";
import { correctedHints, restsText, sameOr, tellHeld, waitingHints } from "../../terminal/executions/waiting-hints.ts";
import type { AnswerLines } from "../../terminal/terminal-lines.ts";
import { printJson, standardStreams } from "../../terminal/standard-streams.ts";
import { makeArtifactsFolder, writeArtifacts } from "../../write-artifacts.ts";

/** What the commands that run something work with. */
export type OpenRuntime = Awaited<ReturnType<typeof openRuntime>>;

/**
 * Opens tools and a runtime. Without a journal, decisions have to come at once. `tellsCalls`: the command itself tells of
 * calls, and of those that wait. `lines` are those of a command that reads other lines of the terminal too.
 * `interrupt` is asked at each SIGINT, as `cancelOnSignal` says.
 */
export async function openRuntime(
  options: RunningOptions,
  journal: Journal | undefined,
  {
    tellsCalls = false,
    lines,
    interrupt,
    ...more
  }: Partial<Parameters<typeof createRuntime>[0]> & {
    readonly tellsCalls?: boolean;
    readonly lines?: AnswerLines | undefined;
    readonly interrupt?: () => boolean;
  } = {},
) {
  const { json, sandbox, approve: mode, policy, artifacts: folder } = options;
  const canWait = journal !== undefined;
  refuseLater(mode, canWait);
  makeArtifactsFolder(folder);
  await using opening = new AsyncDisposableStack();
  const open = opening.use(await openAnyTools(options));
  tellUnassigned(open, options);
  const cancelling = opening.use(cancelOnSignal(interrupt));
  const screen = new Screen();
  const operator: OperatorEntry[] = [];
  const logger: Logger = {
    error(entry, message) {
      if (json) operator.push(operatorEntry(entry, message));
      else screen.show(() => printFailures.error(entry, message));
    },
  };
  const { stdin, stderr } = standardStreams();
  const { approve } = opening.use(createApprover({ mode, screen, canWait, lines }));
  const runtime = opening.use(
    await createRuntime({
      tools: open.tools,
      sandbox,
      logger,
      approve,
      journal,
      policy,
      onEvent: json || tellsCalls ? undefined : tellHeld,
      ...more,
    }),
  );
  const stack = opening.move();
  return {
    runtime,
    /** The tools that there were when it was opened. */
    tools: open.tools,
    screen,
    /** Aborted when the process is asked to end. */
    signal: cancelling.signal,
    /** Decides calls; undefined if no decision can be made now: without a terminal, questions are answered `later`. */
    approve: mode === "later" || (mode === "ask" && !(stdin.isTTY && stderr.isTTY)) ? undefined : approve,
    /** Prints the report of a program. `header` is of an execution that was taken up. Returns its exit code. */
    print(report: Report, header?: Header): number {
      if (json) printJson({ ...report, operator });
      else {
        const same = { ...sameOr(options, header), model: undefined };
        const hints = [...waitingHints(report.execution, report.outcome, same), ...correctedHints(report, same)];
        printReport(report, hints);
      }
      return exitCodeOf(report);
    },
    /** Like `print`. `rests`: only the user, or the host in the user's place, brings the conversation further. */
    printAgent(report: AgentReport<unknown>, header?: Header, rests = false): number {
      const { execution, ending, answer, transcript, calls, usage, artifacts } = report;
      if (json) {
        const { turns } = transcript;
        printJson({ execution, ending, answer: answer ?? null, turns, calls, usage, artifacts, operator });
      } else {
        const hints = waitingHints(execution, ending, sameOr(options, header));
        printAgentReport(report, rests ? [`portcullis: ${restsText(execution, sameOr(options, header))}`] : hints);
      }
      return agentExitCodeOf(ending);
    },
    /** Writes artifacts. Resolves with the exit code of the command. */
    async end(code: number, artifacts: Report["artifacts"] = []): Promise<number> {
      const written = await writeArtifacts(folder, artifacts);
      return code === EXIT.cancelled ? cancelling.exitCode : code || written;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
