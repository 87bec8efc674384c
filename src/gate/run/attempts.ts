import { after, monotonic, PortcullisError } from "../../base/index.ts";
import type { CallContext, Retry } from "../../tools/tool.ts";
import type { InputReading } from "../admit/admission.ts";
import type { FailedAnswer } from "../answer.ts";
import type { CallLedger } from "../call-ledger.ts";
import type { OpenCall } from "../open-call.ts";
import { HandlerResult, runHandler } from "./run-handler.ts";

export interface Attempts {
  readonly retry: Retry;
  readonly ledger: CallLedger;
  /** Reads the call's input once more. */
  readonly readInput: () => InputReading | Promise<InputReading>;
  /** Waits until the tool's rate allows one more call. Rejects once the call has ended. */
  readonly whenRate: () => Promise<void>;
}

/**
 * Runs a call's handler until it returns, its failure is not to be repeated, or the attempts or the tool's time are spent.
 * Each failed attempt that is followed by another is journalled first, and has an input of its own: what a handler does to
 * its input reaches no other attempt. Waiting for the tool's rate takes none of its time.
 */
export async function runAttempts(
  call: OpenCall,
  input: unknown,
  context: CallContext,
  { retry, ledger, readInput, whenRate }: Attempts,
): Promise<HandlerResult | FailedAnswer> {
  let own = input;
  let leftMs = call.tool.timeoutMs;
  for (;;) {
    const begunAt = monotonic() - call.approvalWait.ms;
    const handled = await runHandler(call, own, context, leftMs);
    leftMs -= monotonic() - call.approvalWait.ms - begunAt;
    if (handled instanceof HandlerResult || !isRepeated(call, handled, retry)) return handled;
    // A random part spreads the attempts of calls that failed together.
    const delayMs = retry.delayMs * 2 ** (call.handling.attempt - 1) * (1 - Math.random() / 4);
    if (delayMs >= leftMs) return handled;
    leftMs -= delayMs;
    const waited = wait(call, delayMs);
    await ledger.retried(call, handled.answer, Math.round(delayMs), handled.error);
    await waited;
    if (call.isOver) return handled;
    call.handling.attempt += 1;
    await whenRate();
    const read = await readInput();
    if (!read?.ok) return handled;
    own = read.value;
  }
}

function isRepeated(
  call: OpenCall,
  { answer, error }: FailedAnswer,
  { attempts, on = isWorthAnother }: Retry,
): boolean {
  const { ruling, handling, isOver } = call;
  if (isOver || answer.code === "handler_timed_out" || handling.attempt >= attempts || ruling.effect === "write")
    return false;
  try {
    const isWorthIt: unknown = on(error);
    return isWorthIt === true;
  } catch (cause) {
    call.noticed ??= cause;
    return false;
  }
}

/** A deliberate failure (`tool_failed`) and a result that is too large would be the same again. */
function isWorthAnother(error: unknown): boolean {
  return !PortcullisError.is(error) || (error.code !== "tool_failed" && error.code !== "result_too_large");
}

async function wait(call: OpenCall, ms: number): Promise<void> {
  const passed = Promise.withResolvers<void>();
  using _ = after(ms, passed.resolve);
  await call.or(() => passed.promise);
}
