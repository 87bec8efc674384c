import type { AgentReport } from "../../../agent/agent-report.ts";
import type { Journal } from "../../../journal/journal.ts";
import type { Header } from "../../../journal/record.ts";
import { given } from "../../../option-rules/given.ts";
import type { Report } from "../../../output/report.ts";
import { createRuntime } from "../../../runtime.ts";
import { agentExitCodeOf, EXIT, exitCodeOf } from "../../exit-code.ts";
import type { JournalOptions } from "../../input/open-journal.ts";
import { openAnyTools, tellUnassigned, type ToolsOptions } from "../../input/open-tools.ts";
import { parseApprove, parseSandbox } from "../../input/option-values.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { createApprover } from "../../terminal/executions/ask-approvals.ts";
import { OperatorLog } from "../../terminal/executions/operator-log.ts";
import { restsText, type SameOptions, sameOr, waitingHints } from "../../terminal/executions/waiting-hints.ts";
import { printAgentJson, printAgentReport, printReport } from "../../terminal/executions/print-report.ts";
import { printJson } from "../../terminal/print.ts";
import { Screen } from "../../terminal/screen.ts";
import { standardStreams } from "../../terminal/standard-streams.ts";
import { makeArtifactsFolder, writeArtifacts } from "../../write-artifacts.ts";

/** The options of the commands that run something, beside what each gives its runtime. */
export interface RunningOptions
  extends ToolsOptions, JournalOptions, Pick<SameOptions, "model" | "baseUrl" | "fallback" | "stream"> {
  readonly sandbox: string;
  readonly approve: string;
  /** Folder for what programs have kept, and for results that were too large for the model. */
  readonly artifacts?: string;
}

/** What the commands that run something work with. */
export type OpenRuntime = Awaited<ReturnType<typeof openRuntime>>;

/** Opens tools and a runtime. Without a journal, decisions have to come at once. */
export async function openRuntime(
  options: RunningOptions,
  journal: Journal | undefined,
  more: (screen: Screen) => Partial<Parameters<typeof createRuntime>[0]>,
) {
  const { json = false, artifacts: folder } = options;
  const canWait = journal !== undefined;
  const mode = parseApprove(options.approve, canWait);
  const sandbox = parseSandbox(options.sandbox);
  await makeArtifactsFolder(folder);
  await using opening = new AsyncDisposableStack();
  const open = opening.use(await openAnyTools(options));
  tellUnassigned(open, options);
  const cancelling = opening.use(cancelOnSignal());
  const screen = new Screen();
  const operator = new OperatorLog();
  const { stdin, stderr } = standardStreams();
  const { approve } = opening.use(createApprover({ mode, screen, canWait }));
  const runtime = opening.use(
    await createRuntime({
      tools: open.tools,
      sandbox,
      logger: operator,
      approve,
      ...given({ journal }),
      ...more(screen),
    }),
  );
  const stack = opening.move();
  return {
    runtime,
    screen,
    /** Aborted when the process is asked to end. */
    signal: cancelling.signal,
    /** Decides calls; undefined if no decision can be made now: without a terminal, questions are answered `later`. */
    approve: mode === "later" || (mode === "ask" && !(stdin.isTTY && stderr.isTTY)) ? undefined : approve,
    /** Prints the report of a program. `header` is of an execution that was taken up. Returns its exit code. */
    print(report: Report, header?: Header): number {
      if (json) printJson({ ...report, operator: operator.entries });
      else {
        const same = { ...sameOr(options, header), model: undefined };
        const hints = waitingHints(report.execution, report.outcome, same);
        printReport(report, hints);
      }
      return exitCodeOf(report);
    },
    /** Like `print`. `rests`: only the user, or the host in the user's place, brings the conversation further. */
    printAgent(report: AgentReport<unknown>, header?: Header, rests = false): number {
      const { execution, ending } = report;
      if (json) printAgentJson(report, operator);
      else {
        const hints = waitingHints(execution, ending, sameOr(options, header));
        printAgentReport(report, rests ? [`portcullis: ${restsText(execution)}`] : hints);
      }
      return agentExitCodeOf(ending);
    },
    /** Prints what has failed at handlers, and writes artifacts. Resolves with the exit code of the command. */
    async end(code: number, artifacts: Report["artifacts"] = []): Promise<number> {
      if (!json) operator.print();
      const written = await writeArtifacts(folder, artifacts);
      return code === EXIT.cancelled ? cancelling.exitCode : code || written;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
