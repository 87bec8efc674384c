import type { ProgramWork, WorkSpan } from "../telemetry/telemetry.ts";
import type { Execution } from "./execute.ts";
import type { Ending } from "./outcome.ts";
import type { Scope } from "./scope.ts";

/** Begins the span of an execution, for as long as this driver drives it; undefined where nothing records. */
export function beginSpan(
  { telemetry, tenant, language, sandbox, above }: Scope,
  about: Pick<ProgramWork, "execution" | "source" | "before">,
): WorkSpan | undefined {
  return telemetry?.beginProgram({ ...about, tenant, language, sandbox: sandbox.name, callId: above?.callId });
}

/** The field of a record that leads back to a span. */
export function traceOf(span: Pick<WorkSpan, "traceparent"> | undefined): { readonly trace?: string } {
  const { traceparent } = span ?? {};
  return traceparent === undefined ? {} : { trace: traceparent };
}

/** Runs an execution within its span, and ends the span with it. */
export function inSpan(span: WorkSpan | undefined, run: () => Promise<Execution>): Promise<Execution> {
  return span ? runIn(span, run) : run();
}

async function runIn(span: WorkSpan, run: () => Promise<Execution>): Promise<Execution> {
  let ended: Execution;
  try {
    ended = await span.run(run);
  } catch (error) {
    await span.end({ outcome: "broken_off", code: "broken_off" });
    throw error;
  }
  await endSpan(span, ended);
  return ended;
}

export async function endSpan(
  span: WorkSpan | undefined,
  { ending, calls, resultBytes, turns, queuedMs, runningMs, peakMemoryBytes }: Execution,
): Promise<void> {
  await span?.end({
    outcome: ending.type,
    code: codeOf(ending),
    usage: {
      calls: calls.length,
      turns,
      "bytes.in": resultBytes,
      queued_ms: queuedMs,
      running_ms: runningMs,
      peak_memory_bytes: peakMemoryBytes,
    },
    value: ending.type === "completed" ? ending.text : undefined,
    fault: ending.type === "failed" ? ending.fault.message : undefined,
  });
}

/** A program chooses the names and codes of its errors, so they are no attribute of a metric. */
function codeOf(ending: Ending): string | undefined {
  switch (ending.type) {
    case "completed":
    case "waiting":
      return undefined;
    case "failed":
      return "program_failed";
    case "stopped":
      return `limit_${ending.limit}`;
    case "crashed":
      return ending.code;
    case "cancelled":
      return "cancelled";
  }
}
