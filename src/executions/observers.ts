import { type ExecutionId, PortcullisError } from "../base/index.ts";
import { leavesOpen } from "../journal/execution-log.ts";
import type { ProgramWork, WorkSpan } from "../gate/telemetry/telemetry.ts";
import { endingCancelled } from "./drive/ending/endings.ts";
import { whileDriven } from "./driven.ts";
import { type Execution, NOT_DRIVEN } from "./execution.ts";
import type { TrackedLog } from "./from-journal/tracked-log.ts";
import type { Ending, Fault } from "./outcome.ts";
import { shownExecution } from "./redact-execution.ts";
import type { Scope } from "./scope.ts";

interface Begun {
  readonly log: TrackedLog;
  readonly drive: () => Promise<Execution>;
}

/**
 * Takes a program the whole way, from `prepare` to its report, and tells its observers of it: the listener of events, the
 * span and the redaction. `prepare` resolves with a fault for a program that cannot be run. Resolves with what may be
 * shown.
 *
 * The observers are told here and not by the log: the span is the active one while the program is driven, and an ending
 * is told with its value, redacted, after the driving. Two facts are in no record, so the loop in `drive/drive.ts` tells
 * them to `scope.onEvent`: the output that it accepts, and that a program waits and keeps its guest.
 */
export async function withObservers(
  scope: Scope,
  about: Pick<ProgramWork, "execution" | "source" | "before">,
  prepare: (span: WorkSpan | undefined) => Promise<Begun | { readonly fault: Fault }>,
): Promise<Execution> {
  const { telemetry, tenant, language, sandbox, above, onEvent } = scope;
  const { execution, before } = about;
  const span = telemetry?.beginProgram({ ...about, tenant, language, sandbox: sandbox.name, callId: above?.callId });
  const begun = await begunIn(span, async () => {
    const prepared = await prepare(span);
    return "fault" in prepared ? shownExecution(notStarted(scope, execution, prepared.fault), scope) : prepared;
  });
  if (!("drive" in begun)) return measured(span, begun);
  const { log, drive } = begun;
  const { header } = log.state;
  const corrects = header?.kind === "program" ? header.corrects : undefined;
  if (!before) onEvent({ type: "execution_started", execution, corrects: corrects?.execution });
  const watch = async () => {
    try {
      const shown = await shownExecution(await (span ? span.run(drive) : drive()), scope);
      const { ending } = shown;
      if (ending.type === "waiting") onEvent({ type: "execution_waiting", execution, waiting: ending });
      else {
        const outcome = ending.type === "completed" ? { type: ending.type, value: ending.value } : ending;
        onEvent({ type: "execution_ended", execution, outcome });
      }
      return await measured(span, shown);
    } catch (error) {
      await span?.end({ outcome: "broken_off", code: "broken_off" });
      throw error;
    }
  };
  return whileDriven(scope.journal, log, watch());
}

/** The report of a program that cannot be run. Its journal has nothing yet, so a host that leaves its executions open throws instead. */
function notStarted({ limits, signal }: Scope, execution: ExecutionId, fault: Fault): Execution {
  if (signal.aborted && leavesOpen(signal.reason))
    throw new PortcullisError(
      "runtime_closed",
      "The runtime was suspended before the program had begun. Nothing was started: run it again.",
    );
  const ending: Ending = signal.aborted ? endingCancelled(signal.reason) : { type: "failed", fault };
  return { execution, limits, ending, calls: [], resultBytes: 0, ...NOT_DRIVEN };
}

async function measured(span: WorkSpan | undefined, shown: Execution): Promise<Execution> {
  const { ending, calls, resultBytes, turns, queuedMs, cpuMs, peakMemoryBytes } = shown;
  await span?.end({
    outcome: ending.type,
    code: codeOf(ending),
    usage: {
      calls: calls.length,
      turns,
      "bytes.in": resultBytes,
      queued_ms: queuedMs,
      running_ms: cpuMs,
      peak_memory_bytes: peakMemoryBytes,
    },
    value: ending.type === "completed" ? ending.text : undefined,
    fault: ending.type === "failed" ? ending.fault.message : undefined,
  });
  return shown;
}

/** Begins the work of a span. If the work cannot begin, or has begun before under its id, the span ends without it. */
export async function begunIn<Begun>(span: WorkSpan | undefined, begin: () => Promise<Begun>): Promise<Begun> {
  try {
    return await begin();
  } catch (error) {
    const code = PortcullisError.is(error) ? error.code : "broken_off";
    // The same id again joins the execution, or takes it up in a span of its own.
    await span?.notBegun(code === "execution_exists" ? undefined : code);
    throw error;
  }
}

/** The field of a record that leads back to a span. */
export function traceOf(span: Pick<WorkSpan, "traceparent"> | undefined): { readonly trace?: string } {
  const { traceparent } = span ?? {};
  return traceparent === undefined ? {} : { trace: traceparent };
}

/** A program chooses the names and codes of its errors, so they are no attribute of a metric. */
function codeOf(ending: Ending): string | undefined {
  if (ending.type === "completed" || ending.type === "waiting") return undefined;
  if (ending.type === "stopped") return `limit_${ending.limit}`;
  if (ending.type === "failed") return "program_failed";
  return ending.type === "crashed" ? ending.code : ending.type;
}
