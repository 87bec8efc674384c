import { hash } from "node:crypto";
import { monotonic, WaitedTime } from "../base/index.ts";
import type {
  AnsweredRecord,
  CallRecord,
  DecisionRecord,
  ResultRecord,
  RetryRecord,
  ShownDefinition,
} from "../journal/record.ts";
import type { CallSpan } from "./telemetry/telemetry.ts";
import type { StoredPart } from "../tools/content.ts";
import { effectOfCall, graverEffect } from "../tools/effect.ts";
import type { Caller, Effect, Tool } from "../tools/tool.ts";
import type { Approval } from "./approve/approval.ts";
import { CallEnd } from "./call-end.ts";
import { digestOfShown, type ShownInput } from "./admit/read-input.ts";
import type { EarlierCall } from "./reuse/earlier-calls.ts";
import type { StreamPast } from "./streams/past-items.ts";
import type { OpenStream, StreamProgress, StreamReader } from "./streams/stream-reader.ts";

export interface CallRequest {
  /** Unique in the session. */
  readonly callId: string;
  readonly tool: string;
  readonly caller: Caller;
  /** JSON text. */
  readonly inputText: string;
  /** UTF-8 bytes of `inputText`, if its caller has counted them. */
  readonly inputBytes?: number | undefined;
  /** Of a value that a program keeps: its name. The text is the value. */
  readonly artifact?: string | undefined;
  /** Given to the handler, by a host that may repeat the call; made of the call's own id otherwise. */
  readonly idempotencyKey?: string | undefined;
  /** Reads the items of a tool that streams. Without it the caller gets them as one array. */
  readonly reader?: StreamReader | undefined;
}

export type CallIdentity = Pick<CallRequest, "callId" | "tool" | "caller">;

/** What the journal says of a call that another driver has left open. */
export interface PastCall {
  readonly ruling?: CallRecord | undefined;
  /** JSON text of what the tool's schema made of the input; missing if it is as the caller sent it. */
  readonly converted?: string | undefined;
  readonly decision?: DecisionRecord | undefined;
  readonly result?: ResultRecord | undefined;
  readonly retried?: RetryRecord | undefined;
  readonly answered?: AnsweredRecord | undefined;
  readonly streamed?: StreamPast | undefined;
}

interface CallDecision {
  /** Whether a decision about it was appended to the journal. */
  isRecorded: boolean;
  /** Undefined until the call is known to need approval. */
  approval?: Approval | undefined;
  /** Whether it waits because its handler may have run already: that is decided about this call alone. */
  isUnknown: boolean;
  /** Why the policy asks for its approval, or refuses it. */
  policy?: string | undefined;
  /** What it changes. If that depends on its input, a `write` until its input is read. */
  effect: Effect;
  /** The effect that an earlier driver was told, if one was. */
  effectBefore?: Effect | undefined;
  /** The equal call of an earlier execution that stands for it. */
  earlier?: EarlierCall | undefined;
}

/** What the handler of a call has done, as its runner writes it. */
export interface Handling {
  /** Number of the attempt that is under way, or comes next. */
  attempt: number;
  started: boolean;
  /** Set once it is answered as an earlier call was: no handler runs for it. */
  isReused?: true;
  extras: AnswerExtras;
  /** Of a tool that streams: the stream, once the handler has given its iterable. */
  stream?: OpenStream;
  /** Of a stream that another driver had begun: whether the handler was told where to go on. */
  wasTold?: boolean;
  streamed?: StreamPast | undefined;
}

export interface AnswerExtras {
  /** Of a search: the definitions that it showed. */
  readonly shown?: readonly ShownDefinition[];
  /** What the handler has said to people, as JSON text. */
  readonly display?: string;
  readonly parts?: readonly StoredPart[];
  readonly from?: string;
  /** Of a value from outside: characters that the journal, from which it comes, does not have. */
  readonly redacted?: number | undefined;
  /** Number of images, files and links that its caller does not get. */
  readonly partsLeftOut?: number;
  /** Digests of the addresses that it names. */
  readonly named?: readonly string[];
}

const NOTHING: AnswerExtras = {};

interface Admitted {
  /** Whether it counts in the budget of calls. */
  readonly isCounted?: boolean;
  readonly span?: CallSpan | undefined;
  readonly inputBytes?: number;
}

/** A call that was accepted and has no answer yet. */
export class OpenCall extends CallEnd {
  readonly tool: Tool;
  readonly identity: CallIdentity;
  readonly idempotencyKey: string | undefined;
  readonly artifact: string | undefined;
  readonly reader: StreamReader | undefined;
  readonly isCounted: boolean;
  readonly inputBytes: number;
  readonly span: CallSpan | undefined;
  readonly since = monotonic();
  readonly ruling: CallDecision;
  readonly handling: Handling = { attempt: 1, started: false, extras: NOTHING };
  /** Memory that its share holds for its input, and for what its schema made of that. */
  readonly held = { input: 0, shown: 0 };
  /** For the operator: what went wrong beside the call, like the tool's `approval` function, or a question of its handler that had no answer. The call went on. */
  noticed: unknown;
  /** Set if the call was dropped. Resolves once the journal holds that record. */
  dropped: Promise<unknown> | undefined;
  /** How long the work that its handler started waited for approvals alone. The handler's own time does not count it. */
  readonly approvalWait = new WaitedTime();
  #inputText: string;
  #shown: ShownInput | undefined;
  /** Whether a record says what was made of the input. */
  #isInputTold = false;
  #isEffectRead = false;
  #inputDigest: string | undefined;
  #sentDigest: string | undefined;

  constructor(
    tool: Tool,
    { callId, tool: name, caller, inputText, artifact, idempotencyKey, reader }: CallRequest,
    { isCounted = false, span, inputBytes = Buffer.byteLength(inputText) }: Admitted = {},
  ) {
    super();
    this.tool = tool;
    this.artifact = artifact;
    this.reader = tool.stream ? reader : undefined;
    this.identity = { callId, tool: name, caller };
    this.idempotencyKey = idempotencyKey;
    this.isCounted = isCounted;
    this.span = span;
    this.ruling = { isRecorded: false, isUnknown: false, effect: tool.effect };
    this.inputBytes = inputBytes;
    this.#inputText = inputText;
  }

  /** JSON text; empty once the call is over, because a queue may keep the call for long. */
  get inputText(): string {
    return this.#inputText;
  }

  /** What was shown of the input to rules and people; undefined before it was read. */
  get shown(): ShownInput | undefined {
    return this.#shown;
  }

  /** From now on the call has this input, whatever its schema makes of what was sent. `isTold`: a record says so already. */
  show(shown: ShownInput, isTold = false): void {
    this.#shown = shown;
    this.#isInputTold = isTold;
    this.#inputDigest = undefined;
  }

  /** JSON text of the input that the handler is given, and all others are shown. */
  get shownText(): string {
    return this.#shown?.converted ?? this.#inputText;
  }

  /** The input for a function of the host, which gets values of its own: the one that the handler is given, and what was sent if that differs. */
  shownInput(): { readonly input: unknown; readonly rawInput?: unknown } {
    const input = JSON.parse(this.shownText) as unknown;
    return this.#shown?.converted === undefined
      ? { input }
      : { input, rawInput: JSON.parse(this.#inputText) as unknown };
  }

  /** What a record says of the input. What was made of it is written once. */
  tellInput(): { readonly inputDigest: string; readonly input?: string } {
    const { inputDigest } = this;
    const { converted } = this.#shown ?? {};
    if (converted === undefined || this.#isInputTold) return { inputDigest };
    this.#isInputTold = true;
    return { inputDigest, input: converted };
  }

  get inputDigest(): string {
    return (this.#inputDigest ??= digestOfShown(this.#inputText, this.#shown));
  }

  get sentDigest(): string {
    return (this.#sentDigest ??= hash("sha256", this.#inputText));
  }

  /** Whether a handler or an approver works on the call, or has its signal. */
  get isUnderWay(): boolean {
    return this.handling.started || this.hasSignal;
  }

  /** Of a stream: what has left to its reader so far, also by earlier drivers. */
  get progress(): StreamProgress | undefined {
    const { stream, streamed } = this.handling;
    return this.reader && (stream?.progress ?? { items: streamed?.items ?? 0, bytes: streamed?.bytes ?? 0 });
  }

  /** The reader can take one batch more. After a take-up it may ask for it before the handler was called again. */
  more(): void {
    const { stream, streamed } = this.handling;
    if (stream) stream.more();
    else if (streamed) this.handling.streamed = { ...streamed, asked: streamed.asked + 1 };
  }

  /** Whether what it changes does not depend on its input, or was asked already. */
  get isEffectKnown(): boolean {
    return this.tool.effectOf === undefined || this.#isEffectRead;
  }

  /** Asks what the call changes, now that its input is read: no less than an earlier driver was told. */
  readEffect(input: unknown): void {
    this.#isEffectRead = true;
    const { effect, error } = effectOfCall(this.tool, input);
    this.ruling.effect = graverEffect(effect, this.ruling.effectBefore);
    this.noticed ??= error;
  }

  /**
   * Ends the call and aborts the work on it: its answer is no longer needed. An agent that works on it reads the reason.
   * `dropped` resolves once the journal holds that the call was dropped, if it was.
   */
  end(reason: string | Error, dropped?: Promise<unknown>): void {
    if (this.isOver) return;
    this.dropped = dropped;
    // A running handler may still read its idempotency key, which needs the digest.
    if (this.handling.started) void this.sentDigest;
    this.#inputText = "";
    this.#shown = undefined;
    this.set(reason);
  }
}
