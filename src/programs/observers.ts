import type { ProgramWork, WorkSpan } from "../telemetry/telemetry.ts";
import { shownExecution } from "./redact-execution.ts";
import type { Execution } from "./execution.ts";
import type { Ending, Outcome, Unreplayable, Waiting } from "./outcome.ts";
import type { Scope } from "./scope.ts";

/**
 * What listens to one execution while this driver drives it: the listener of its events, its span, and the redaction of
 * what either of them and the report show.
 */
export class Observers {
  readonly span: WorkSpan | undefined;
  readonly #scope: Scope;
  readonly #execution: string;

  constructor(scope: Scope, about: Pick<ProgramWork, "execution" | "source" | "before">) {
    const { telemetry, tenant, language, sandbox, above } = scope;
    this.#scope = scope;
    this.#execution = about.execution;
    this.span = telemetry?.beginProgram({ ...about, tenant, language, sandbox: sandbox.name, callId: above?.callId });
  }

  /** The field of a claim that leads back to the span. */
  get trace(): { readonly trace?: string } {
    return traceOf(this.span);
  }

  began(): void {
    this.#scope.onEvent({ type: "execution_started", execution: this.#execution });
  }

  printed(text: string): void {
    this.#scope.onEvent({ type: "output", execution: this.#execution, text });
  }

  waits(waiting: Waiting, held?: Unreplayable): void {
    const about = { execution: this.#execution, waiting };
    this.#scope.onEvent({ type: "execution_waiting", ...about, ...(held === undefined ? {} : { held }) });
  }

  /** Tells of what an execution has come to, or waits for, once its driving has ended, and resolves with what may be shown of it. */
  async watch(drive: () => Promise<Execution>): Promise<Execution> {
    const { span } = this;
    try {
      const shown = await shownExecution(await (span ? span.run(drive) : drive()), this.#scope);
      const { ending } = shown;
      if (ending.type === "waiting") this.waits(ending);
      else this.#scope.onEvent({ type: "execution_ended", execution: this.#execution, outcome: outcomeOf(ending) });
      return await this.#measured(shown);
    } catch (error) {
      await span?.end({ outcome: "broken_off", code: "broken_off" });
      throw error;
    }
  }

  /** What may be shown of a program that was refused before it began. */
  async refused(execution: Execution): Promise<Execution> {
    return this.#measured(await shownExecution(execution, this.#scope));
  }

  async #measured(shown: Execution): Promise<Execution> {
    const { ending, calls, resultBytes, turns, queuedMs, runningMs, peakMemoryBytes } = shown;
    await this.span?.end({
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
    return shown;
  }
}

/** The field of a record that leads back to a span. */
export function traceOf(span: Pick<WorkSpan, "traceparent"> | undefined): { readonly trace?: string } {
  const { traceparent } = span ?? {};
  return traceparent === undefined ? {} : { trace: traceparent };
}

function outcomeOf(ending: Ending): Outcome {
  return ending.type === "completed" ? { type: "completed", value: ending.value } : ending;
}

/** A program chooses the names and codes of its errors, so they are no attribute of a metric. */
function codeOf(ending: Ending): string | undefined {
  if (ending.type === "completed" || ending.type === "waiting") return undefined;
  if (ending.type === "stopped") return `limit_${ending.limit}`;
  if (ending.type === "failed") return "program_failed";
  return ending.type === "crashed" ? ending.code : ending.type;
}
