import type { Attributes, Context } from "@opentelemetry/api";
import { monotonic } from "../../base/index.ts";
import type { Contents } from "./contents.ts";
import type { FigureSink } from "./metric-table.ts";
import type { Otel } from "./otel.ts";
import { word, SafeSpan } from "./span.ts";

/** @internal The types of OpenTelemetry, which is optional, are in no declaration of the package. */
export interface SpanParts {
  readonly otel: Otel;
  readonly figures: FigureSink;
  readonly contents: Contents;
}

/** A call of a known tool. */
export interface CallWork {
  readonly callId: string;
  readonly tool: string;
  /** `direct` or `programmatic`. */
  readonly caller: string;
  /** JSON text. It is kept only if inputs are captured. */
  readonly inputText: string;
  /** Whether a client has chosen the tool's name: metrics do not tell such names apart. */
  readonly isClients: boolean;
}

export interface CallEnd {
  /** `value`, `refused`, `failed`, `aborted`; `waiting` if the call is left to another driver. */
  readonly outcome: string;
  /** Code of a refusal or a failure. */
  readonly code?: string | undefined;
  /** UTF-8 bytes of the result. */
  readonly bytes: number;
  /** Of a stream: number of the items that the program was given. */
  readonly items?: number | undefined;
  /** The result as JSON text. It is kept only if results are captured. */
  readonly text?: string | undefined;
}

/** The calls of an execution, or of a host. Their spans are below the same context. */
export class CallSpans {
  /** @internal */
  protected readonly parts: SpanParts;
  readonly #parent: Context;
  /** Spans that have ended and wait for a redaction. */
  readonly #late = new Set<Promise<void>>();

  /** @internal */
  constructor(parts: SpanParts, parent: Context) {
    this.parts = parts;
    this.#parent = parent;
  }

  begin({ callId, tool, caller, inputText, isClients }: CallWork): CallSpan {
    const { otel, contents } = this.parts;
    const attributes = { ...toolAttributes(tool, callId), "portcullis.caller": caller };
    const span = new SafeSpan(otel, this.#parent, `execute_tool ${word(tool)}`, { attributes });
    if (contents.has("inputs") && span.isRecorded)
      span.setContent("gen_ai.tool.call.arguments", contents.json(inputText, { tool, callId }));
    return new CallSpan(this.parts, span, { tool, callId, isClients }, (late) => this.#await(late));
  }

  /** A call that was refused before it had a span. The name of an unknown tool may be any text: it is neither the name of a span nor an attribute. */
  refused({ tool, callId, isClients, ...end }: CallEnd & CallName): void {
    const { otel } = this.parts;
    const isKnown = end.code !== "tool_unknown";
    const attributes = toolAttributes(isKnown ? tool : undefined, callId);
    const span = new SafeSpan(otel, this.#parent, isKnown ? `execute_tool ${word(tool)}` : "execute_tool", {
      attributes,
    });
    span.set({ "portcullis.outcome": end.outcome });
    void span.end(end.code);
    countCall(this.parts, isKnown && !isClients ? tool : undefined, end);
  }

  /** Resolves once all spans that have ended so far are passed on. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#late);
  }

  #await(late: Promise<void>): void {
    this.#late.add(late);
    void late.finally(() => this.#late.delete(late));
  }
}

type CallName = Pick<CallWork, "tool" | "callId" | "isClients">;

export class CallSpan {
  readonly #parts: SpanParts;
  readonly #span: SafeSpan;
  readonly #name: CallName;
  readonly #onLate: (late: Promise<void>) => void;
  /** When the handler was started. */
  #started: number | undefined;

  /** @internal */
  constructor(parts: SpanParts, span: SafeSpan, name: CallName, onLate: (late: Promise<void>) => void) {
    this.#parts = parts;
    this.#span = span;
    this.#name = name;
    this.#onLate = onLate;
  }

  /** Runs the handler, while the span is active. */
  run<Value>(handler: () => Value): Value {
    this.#started = monotonic();
    this.#span.set({ "portcullis.call.wait_ms": Math.round(this.#span.seconds * 1000) });
    return this.#span.run(handler);
  }

  end(end: CallEnd): void {
    const { figures, contents } = this.#parts;
    const { outcome, code, bytes, items, text } = end;
    const tool = this.#name.isClients ? undefined : this.#name.tool;
    this.#span.set({ "portcullis.outcome": outcome, "portcullis.result.size": bytes });
    if (items !== undefined) this.#span.set({ "portcullis.result.items": items });
    if (text !== undefined && contents.has("results") && this.#span.isRecorded)
      this.#span.setContent("gen_ai.tool.call.result", contents.json(text, this.#name));
    const late = this.#span.end(outcome === "aborted" ? "aborted" : code);
    if (late) this.#onLate(late);
    if (outcome === "waiting") return;
    const seconds = this.#started === undefined ? undefined : (monotonic() - this.#started) / 1000;
    const attributes = { ...toolAttributes(tool), ...failureAttributes(code) };
    if (seconds !== undefined) figures.note("toolDuration", seconds, attributes);
    countCall(this.#parts, tool, end);
  }
}

function countCall(
  { figures }: SpanParts,
  tool: string | undefined,
  { outcome, code, bytes, items = 0 }: CallEnd,
): void {
  const about = tool === undefined ? {} : { "gen_ai.tool.name": word(tool) };
  figures.note("calls", 1, { ...about, ...failureAttributes(code), "portcullis.outcome": outcome });
  if (bytes > 0) figures.note("fetched", bytes, about);
  if (items > 0) figures.note("streamed", items, about);
}

/** @internal */
export function failureAttributes(code: string | undefined): Attributes {
  return code === undefined ? {} : { "error.type": code };
}

/** @internal The attributes of a call, without a name for an unknown tool. */
export function toolAttributes(tool: string | undefined, callId?: string): Attributes {
  return {
    "gen_ai.operation.name": "execute_tool",
    ...(tool === undefined ? {} : { "gen_ai.tool.name": word(tool) }),
    "gen_ai.tool.type": "function",
    ...(callId === undefined ? {} : { "gen_ai.tool.call.id": word(callId) }),
  };
}
