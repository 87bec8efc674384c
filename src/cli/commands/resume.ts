import { optionError } from "../../errors.ts";
import type { Report } from "../../output/report.ts";
import type { ClientResult } from "../../programs/resume.ts";
import { createRuntime, type Runtime } from "../../runtime.ts";
import { EXIT, exitCodeOf } from "../exit-code.ts";
import { existingJournal } from "../input/open-journal.ts";
import { openTools, type ToolsOptions } from "../input/open-tools.ts";
import { parseApprove } from "../input/parse-approve.ts";
import { parseJson } from "../input/parse-json.ts";
import { parseSandbox } from "../input/parse-sandbox.ts";
import { createApprover } from "../terminal/ask-approvals.ts";
import { cancelOnSignal } from "../terminal/cancel-on-signal.ts";
import { createOperatorLog } from "../terminal/operator-log.ts";
import { printJson } from "../terminal/print.ts";
import { printReport } from "../terminal/print-report.ts";
import { createScreen } from "../terminal/screen.ts";

export interface ResumeOptions extends ToolsOptions {
  readonly sandbox: string;
  readonly approve: string;
  /** `CALL=JSON`, once for each call that a client answers. */
  readonly result: readonly string[];
  readonly allowChangedTools?: boolean;
  readonly tenant?: string;
  readonly journal?: string;
  readonly json?: boolean;
}

/** `portcullis resume`: takes an execution up, and prints its report. Resolves with its exit code, which is 6 if it waits. */
export async function resume(execution: string, options: ResumeOptions): Promise<number> {
  const { allowChangedTools = false, tenant } = options;
  const results = Object.fromEntries(options.result.map(parseResult));
  return withRuntime(options, async (runtime, signal, print) => {
    const report = await runtime.resume(execution, {
      results,
      allowChangedTools,
      signal,
      ...(tenant === undefined ? {} : { tenant }),
    });
    print(report);
    return exitCodeOf(report);
  });
}

/** `portcullis recover`: takes up every execution whose host died. Resolves with 0 once each has ended or waits. */
export async function recover(options: Omit<ResumeOptions, "result">): Promise<number> {
  return withRuntime(options, async (runtime, _, print) => {
    for await (const report of runtime.recover()) print(report);
    return EXIT.completed;
  });
}

async function withRuntime(
  options: Omit<ResumeOptions, "result">,
  work: (runtime: Runtime, signal: AbortSignal, print: (report: Report) => void) => Promise<number>,
): Promise<number> {
  const mode = parseApprove(options.approve, true);
  await using open = await openTools(options);
  const operator = createOperatorLog();
  using cancelling = cancelOnSignal();
  using journal = existingJournal(options.journal);
  using approver = createApprover({ mode, screen: createScreen(), canWait: true });
  await using runtime = await createRuntime({
    tools: open.tools,
    sandbox: parseSandbox(options.sandbox),
    journal,
    logger: operator,
    approve: approver.approve,
  });
  const code = await work(runtime, cancelling.signal, (report) => {
    if (options.json) printJson({ ...report, operator: operator.entries });
    else printReport(report);
  });
  if (!options.json) operator.print();
  return code;
}

function parseResult(text: string): readonly [call: string, result: ClientResult] {
  const end = text.indexOf("=");
  if (end < 1) throw optionError("--result", 'CALL=JSON, like 3={"units":4}', text);
  return [text.slice(0, end), { value: parseJson("--result", text.slice(end + 1)) }];
}
