import { optionError, PortcullisError } from "../../errors.ts";
import type { Report } from "../../output/report.ts";
import type { ClientResult } from "../../programs/decide.ts";
import type { Unrecovered } from "../../executions/recover.ts";
import { RECOVER_RULES } from "../../executions/recover-options.ts";
import { createRuntime, type Runtime } from "../../runtime.ts";
import { EXIT, exitCodeOf } from "../exit-code.ts";
import { reasonOf } from "../failure.ts";
import { loadTools } from "../input/load-tools.ts";
import { existingJournal } from "../input/open-journal.ts";
import { parseApprove } from "../input/parse-approve.ts";
import { parseJson } from "../input/parse-json.ts";
import { parseWhole } from "../input/parse-whole.ts";
import { parseSandbox } from "../input/parse-sandbox.ts";
import { createApprover } from "../terminal/ask-approvals.ts";
import { cancelOnSignal } from "../terminal/cancel-on-signal.ts";
import { oneLine } from "../terminal/one-line.ts";
import { createOperatorLog } from "../terminal/operator-log.ts";
import { printJson } from "../terminal/print.ts";
import { printReport } from "../terminal/print-report.ts";
import { createScreen } from "../terminal/screen.ts";

export interface ResumeOptions {
  readonly tools: string;
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

/**
 * `portcullis recover`: takes up every execution whose host died. Resolves with 0 once each has ended or waits, and with
 * 1 if some could not be taken up.
 */
export async function recover(
  options: Omit<ResumeOptions, "result"> & { readonly concurrency?: string },
): Promise<number> {
  const concurrency =
    options.concurrency === undefined
      ? {}
      : { concurrency: parseWhole("--concurrency", options.concurrency, RECOVER_RULES.concurrency) };
  return withRuntime(options, async (runtime, _, print) => {
    let code: number = EXIT.completed;
    for await (const recovered of runtime.recover(concurrency)) {
      if (!("error" in recovered)) {
        print(recovered);
        continue;
      }
      code = EXIT.failed;
      printUnrecovered(recovered, options.json === true);
    }
    return code;
  });
}

function printUnrecovered({ execution, tenant, error }: Unrecovered, asJson: boolean): void {
  const code = PortcullisError.is(error) ? { code: error.code } : {};
  if (asJson) printJson({ execution, tenant, error: { ...code, message: error.message } });
  else process.stderr.write(`Not taken up: ${oneLine(execution)}. ${reasonOf(error)}\n`);
}

async function withRuntime(
  options: Omit<ResumeOptions, "result">,
  work: (runtime: Runtime, signal: AbortSignal, print: (report: Report) => void) => Promise<number>,
): Promise<number> {
  const mode = parseApprove(options.approve, true);
  const tools = await loadTools(options.tools);
  const operator = createOperatorLog();
  using cancelling = cancelOnSignal();
  using journal = existingJournal(options.journal);
  using approver = createApprover({ mode, screen: createScreen(), canWait: true });
  await using runtime = await createRuntime({
    tools,
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
