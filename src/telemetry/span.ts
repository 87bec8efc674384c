import type { Attributes, Context, Link, Span, SpanKind } from "@opentelemetry/api";
import { inContext, type Otel, placeOf, safely, SCOPE } from "./otel.ts";
import { parseTraceParent } from "./trace-parent.ts";

export interface SpanStart {
  readonly kind?: SpanKind;
  readonly attributes: Attributes;
  /** Where earlier drivers were, as `traceparent`; from a journal, so it may be any text. */
  readonly before?: readonly (string | undefined)[];
}

/** One span, whatever the SDK does: nothing that it throws leaves this class. */
export class SafeSpan {
  readonly #otel: Otel;
  readonly #context: Context;
  readonly #span: Span | undefined;
  readonly #contents: Promise<void>[] = [];
  readonly #since = performance.now();
  #attributes: Attributes = {};

  /** Begins the span below `parent`. */
  constructor(otel: Otel, parent: Context, name: string, { kind, attributes, before = [] }: SpanStart) {
    const links = linksTo(before);
    const options = { attributes, links, ...(kind === undefined ? {} : { kind }) };
    this.#otel = otel;
    this.#span = safely(otel, () => otel.trace.getTracer(SCOPE).startSpan(name, options, parent), undefined);
    this.#context = safely(otel, () => (this.#span ? otel.trace.setSpan(parent, this.#span) : parent), parent);
  }

  /** The context in which work below this span begins. */
  get context(): Context {
    return this.#context;
  }

  get isRecorded(): boolean {
    return safely(this.#otel, () => this.#span?.isRecording() ?? false, false);
  }

  get traceparent(): string | undefined {
    return placeOf(this.#otel, () => this.#span?.spanContext());
  }

  /** Seconds since it began. */
  get seconds(): number {
    return (performance.now() - this.#since) / 1000;
  }

  run<Value>(work: () => Value): Value {
    return inContext(this.#otel, this.#context, work);
  }

  set(attributes: Attributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
  }

  /** Sets an attribute to a content, which may still be redacted. */
  setContent(name: string, content: string | Promise<string>): void {
    if (typeof content === "string") this.set({ [name]: content });
    else this.#contents.push(content.then((text) => this.set({ [name]: text })));
  }

  /** Ends it, with `error.type` where something went wrong. A promise where a content is still redacted. */
  end(code?: string): void | Promise<void> {
    if (code !== undefined) this.set({ "error.type": code });
    // A number is a time only where it cannot be mistaken for one of `performance.now()`: this one is since 1970.
    if (this.#contents.length === 0) return this.#end(code);
    const at = performance.timeOrigin + performance.now();
    return Promise.allSettled(this.#contents).then(() => this.#end(code, at));
  }

  #end(code: string | undefined, at?: number): void {
    const span = this.#span;
    safely(this.#otel, () => span?.setAttributes(this.#attributes), undefined);
    if (code !== undefined)
      safely(this.#otel, () => span?.setStatus({ code: this.#otel.SpanStatusCode.ERROR }), undefined);
    safely(this.#otel, () => span?.end(at), undefined);
  }
}

function linksTo(before: readonly (string | undefined)[]): Link[] {
  return [...new Set(before)].flatMap((text) => {
    const place = text === undefined ? undefined : parseTraceParent(text);
    return place ? [{ context: { ...place, isRemote: true } }] : [];
  });
}
