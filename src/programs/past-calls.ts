import type { FailureCode, RefusalCode } from "../gate/answer.ts";
import type { CallLine } from "../gate/call-line.ts";
import type { AnsweredRecord, CallRecord, RetryRecord } from "../journal/record.ts";
import type { Caller, Effect } from "../tools/tool.ts";

/** The facts of a call before it ends. */
interface BegunCall {
  readonly tool: string;
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly at: number;
  started: boolean;
  effect?: Effect;
  attempts?: number;
}

/** The calls of an execution or a conversation, as its records tell of them in their order. */
export class PastCalls {
  /** By call id: a call that was answered, and whose answer was lost with its host, has a later end. */
  readonly #lines = new Map<string, CallLine>();
  readonly #begun = new Map<string, BegunCall>();
  #calls = 0;
  #inputBytes = 0;
  #resultBytes = 0;

  /** Calls that have ended, in the order of their ends. */
  get lines(): readonly CallLine[] {
    return [...this.#lines.values()];
  }

  /** Number of calls that were made. */
  get calls(): number {
    return this.#calls;
  }

  /** UTF-8 bytes of the inputs of all calls. */
  get inputBytes(): number {
    return this.#inputBytes;
  }

  /** UTF-8 bytes of all results that were returned. */
  get resultBytes(): number {
    return this.#resultBytes;
  }

  /** `at` is in milliseconds since 1970. */
  begin(
    call: string,
    { tool, caller, inputText, at }: Omit<BegunCall, "started"> & { readonly inputText: string },
  ): void {
    this.#calls += 1;
    this.#inputBytes += Buffer.byteLength(inputText);
    this.#begun.set(call, { tool, caller, at, started: false });
  }

  decided({ call, tool, caller, decision, code, effect = this.#begun.get(call)?.effect, at }: CallRecord): void {
    const known = this.#begun.get(call);
    const since = known?.at ?? at;
    const started = (known?.started ?? false) || decision === "allowed";
    const { attempts } = known ?? {};
    this.#begun.set(call, {
      tool,
      caller: caller as Caller,
      at: since,
      started,
      ...(effect === undefined ? {} : { effect }),
      ...(attempts === undefined ? {} : { attempts }),
    });
    const ms = at - since;
    if (decision === "refused")
      this.#end(call, { bytes: 0, ms, outcome: { type: "refused", code: (code ?? "") as RefusalCode } });
    if (decision === "dropped") this.#end(call, { bytes: 0, ms, outcome: { type: "aborted" } });
  }

  /** A handler has failed, and another attempt follows. */
  retried({ call, attempt }: RetryRecord): void {
    const begun = call === undefined ? undefined : this.#begun.get(call);
    if (begun) begun.attempts = attempt + 1;
  }

  answered({ call, ok, code, ms, bytes, shape, display }: AnsweredRecord): void {
    const begun = this.#begun.get(call);
    if (begun) begun.started = true;
    this.#end(call, {
      bytes,
      ms,
      outcome: ok ? { type: "value", shape: shape ?? "" } : { type: "failed", code: (code ?? "") as FailureCode },
      ...(display === undefined ? {} : { display: jsonOf(display) }),
    });
  }

  /** The execution has ended, and its open calls with it. */
  abortOpen(): void {
    for (const call of this.#begun.keys()) this.#end(call, { bytes: 0, ms: 0, outcome: { type: "aborted" } });
  }

  #end(callId: string, facts: Pick<CallLine, "bytes" | "outcome" | "ms" | "display">): void {
    const known = this.#begun.get(callId);
    if (!known) return;
    this.#begun.delete(callId);
    const { tool, caller, started, effect, attempts } = known;
    // A call whose answer did not reach its caller was made again by the next driver.
    this.#resultBytes += facts.bytes - (this.#lines.get(callId)?.bytes ?? 0);
    this.#lines.delete(callId);
    const unusual = { ...(effect === undefined ? {} : { effect }), ...(attempts === undefined ? {} : { attempts }) };
    this.#lines.set(callId, { callId, tool, caller, started, ...facts, ...unusual });
  }
}

/** A journal may come from elsewhere: what is no JSON is shown as it is. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
