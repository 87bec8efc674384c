import { hash, randomUUID } from "node:crypto";

/** What an owner answers a call with: JSON text. Undefined for one that was cancelled, and may have taken effect. */
export type OwnedAnswer = string | undefined;

interface Known {
  readonly tenant: string;
  readonly digest: string;
  readonly answer: Promise<OwnedAnswer>;
  readonly cancel: AbortController;
  /** Of an answer that is there. */
  bytes: number | undefined;
  isCancelled: boolean;
}

export interface OwnedCall {
  readonly execution: string;
  readonly callId: string;
  readonly tenant: string;
  readonly tool: string;
  readonly inputText: string;
  /**
   * The owner that it was sent to before, where it may have arrived: it is made now only if it certainly was not made then.
   * Missing for a call that may be made.
   */
  readonly sentTo?: string | undefined;
}

export type Taken =
  | { readonly type: "answer"; readonly answer: Promise<OwnedAnswer> }
  /** There was another call under this id. */
  | { readonly type: "conflict" }
  /** It may have been made before. */
  | { readonly type: "unknown" }
  /** As many run as may. Nothing was done. */
  | { readonly type: "full" };

/** What an answer counts for beside its text. */
const ENTRY_BYTES = 500;

/**
 * The calls that an owner has made or makes: each once, however often it is sent. Answers are kept within bounds, and the
 * oldest of the tenant that has most of them goes first.
 */
export class OwnedCalls {
  /** Tells this owner from the one that was here before, which knew other calls. */
  readonly instance = randomUUID();
  readonly #calls = new Map<string, Known>();
  readonly #bytesOf = new Map<string, number>();
  readonly #atOnce: number;
  readonly #keptBytes: number;
  #bytes = 0;
  #running = 0;
  /** Whether an answer has been forgotten: from then on a call that is not known may have been made. */
  #hasForgotten = false;

  constructor({ atOnce, keptBytes }: { readonly atOnce: number; readonly keptBytes: number }) {
    this.#atOnce = atOnce;
    this.#keptBytes = keptBytes;
  }

  get running(): number {
    return this.#running;
  }

  /** Makes a call, unless it is known. `make` never rejects. */
  take(call: OwnedCall, make: (signal: AbortSignal) => Promise<OwnedAnswer>): Taken {
    const key = keyOf(call);
    const digest = hash("sha256", JSON.stringify([call.tool, call.inputText]));
    const known = this.#calls.get(key);
    if (known && known.digest !== digest) return { type: "conflict" };
    if (known && !known.isCancelled) return { type: "answer", answer: known.answer };
    // It may have taken effect: a request that says where the call was sent before must not make it again.
    if (known && call.sentTo !== undefined) return { type: "unknown" };
    const isElsewhere = call.sentTo !== undefined && call.sentTo !== this.instance;
    if (isElsewhere || (call.sentTo !== undefined && this.#hasForgotten)) return { type: "unknown" };
    if (this.#running >= this.#atOnce) return { type: "full" };
    this.#running += 1;
    const cancel = new AbortController();
    const answer = make(cancel.signal);
    const entry: Known = { tenant: call.tenant, digest, answer, cancel, bytes: undefined, isCancelled: false };
    if (known?.bytes !== undefined) this.#count(known.tenant, -known.bytes);
    this.#calls.set(key, entry);
    void answer.then((text) => this.#keep(key, entry, text));
    return { type: "answer", answer };
  }

  cancel(call: Pick<OwnedCall, "execution" | "callId">, reason: Error): void {
    this.#calls.get(keyOf(call))?.cancel.abort(reason);
  }

  cancelAll(reason: Error): void {
    for (const { cancel } of this.#calls.values()) cancel.abort(reason);
  }

  /** Resolves once no call runs. */
  async ended(): Promise<void> {
    const running = this.#calls
      .values()
      .filter(({ bytes }) => bytes === undefined)
      .map(({ answer }) => answer);
    await Promise.all(running);
  }

  #keep(key: string, entry: Known, text: OwnedAnswer): void {
    this.#running -= 1;
    entry.isCancelled = text === undefined;
    entry.bytes = ENTRY_BYTES + key.length + 2 * (text?.length ?? 0);
    // From the end on it is the latest.
    this.#calls.delete(key);
    this.#calls.set(key, entry);
    this.#count(entry.tenant, entry.bytes);
    while (this.#bytes > this.#keptBytes) this.#forgetOne();
  }

  #forgetOne(): void {
    const [most] = [...this.#bytesOf].reduce((a, b) => (b[1] > a[1] ? b : a), ["", 0] as const);
    for (const [key, { tenant, bytes }] of this.#calls) {
      if (tenant !== most || bytes === undefined) continue;
      this.#calls.delete(key);
      this.#count(tenant, -bytes);
      this.#hasForgotten = true;
      return;
    }
  }

  #count(tenant: string, bytes: number): void {
    const left = (this.#bytesOf.get(tenant) ?? 0) + bytes;
    this.#bytes += bytes;
    if (left > 0) this.#bytesOf.set(tenant, left);
    else this.#bytesOf.delete(tenant);
  }
}

function keyOf({ execution, callId }: Pick<OwnedCall, "execution" | "callId">): string {
  return JSON.stringify([execution, callId]);
}
