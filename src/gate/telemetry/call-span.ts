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

export interface CallWork {
  readonly callId: string;
  /** Undefined for an unknown tool: its name may be any text. */
  readonly tool: string | undefined;
  /** `direct` or `programmatic`. */
  readonly caller: string;
  /** JSON text. It is kept only if inputs are captured. */
  readonly inputText?: string;
  /** Whether a client has chosen the tool's name: metrics do not tell such names apart. */
  readonly isClients: boolean;
}

export interface CallEnd {
  /** `value`, `refused`, `failed`, `aborted`; `waiting` if the call is left to another driver. */
  readonly outcome: string;
  readonly code?: string | undefined;
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
  /** Ends of spans that wait for a redaction. */
  readonly #late = new Set<Promise<void>>();

  /** @internal */
  constructor(parts: SpanParts, parent: Context) {
    this.parts = parts;
    this.#parent = parent;
  }

  begin(work: CallWork): CallSpan {
    const { callId, tool, caller, inputText } = work;
    const { otel, contents } = this.parts;
    const attributes = { ...toolAttributes(tool, callId), "portcullis.caller": caller };
    const name = tool === undefined ? "execute_tool" : `execute_tool ${word(tool)}`;
    const span = new SafeSpan(otel, this.#parent, name, { attributes });
    if (inputText !== undefined && contents.has("inputs") && span.isRecorded)
      span.setContent("gen_ai.tool.call.arguments", contents.json(inputText, { tool, callId }));
    return new CallSpan(this.parts, span, work, this.#late);
  }

  /** Resolves once all spans that have ended so far are passed on. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#late);
  }
}

export class CallSpan {
  readonly #parts: SpanParts;
  readonly #span: SafeSpan;
  readonly #work: Omit<CallWork, "inputText">;
  readonly #late: Set<Promise<void>>;
  #started: number | undefined;

  /** @internal */
  constructor(
    parts: SpanParts,
    span: SafeSpan,
    { callId, tool, caller, isClients }: CallWork,
    late: Set<Promise<void>>,
  ) {
    this.#parts = parts;
    this.#span = span;
    this.#work = { callId, tool, caller, isClients };
    this.#late = late;
  }

  run<Value>(handler: () => Value): Value {
    this.#started = monotonic();
    this.#span.set({ "portcullis.call.wait_ms": Math.round(this.#span.seconds * 1000) });
    return this.#span.run(handler);
  }

  end({ outcome, code, bytes, items, text }: CallEnd): void {
    const { figures, contents } = this.#parts;
    const { callId, isClients, ...work } = this.#work;
    this.#span.set({ "portcullis.outcome": outcome, "portcullis.result.size": bytes });
    if (items !== undefined) this.#span.set({ "portcullis.result.items": items });
    if (text !== undefined && contents.has("results") && this.#span.isRecorded)
      this.#span.setContent("gen_ai.tool.call.result", contents.json(text, { tool: work.tool, callId }));
    const late = this.#span.end(outcome === "aborted" ? "aborted" : code);
    if (late) {
      this.#late.add(late);
      void late.finally(() => this.#late.delete(late));
    }
    if (outcome === "waiting") return;
    const tool = isClients ? undefined : work.tool;
    const failure = failureAttributes(code);
    if (this.#started !== undefined)
      figures.note("toolDuration", (monotonic() - this.#started) / 1000, { ...toolAttributes(tool), ...failure });
    const about = tool === undefined ? {} : { "gen_ai.tool.name": word(tool) };
    figures.note("calls", 1, { ...about, ...failure, "portcullis.outcome": outcome });
    if (bytes > 0) figures.note("fetched", bytes, about);
    if (items) figures.note("streamed", items, about);
  }
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
