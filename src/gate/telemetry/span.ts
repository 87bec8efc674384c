import type { Attributes, Context, Link, Span, SpanKind } from "@opentelemetry/api";
import { monotonic, now } from "../../base/index.ts";
import { type Otel, parseTraceParent, placeOf, safely, SCOPE, within } from "./otel.ts";

export interface SpanStart {
  readonly kind?: SpanKind | undefined;
  readonly attributes: Attributes;
  /** Spans of earlier drivers, as `traceparent`; from a journal, so each may be any text. */
  readonly before?: readonly (string | undefined)[] | undefined;
}

/** A span. Nothing that the SDK throws leaves this class. */
export class SafeSpan {
  readonly #otel: Otel;
  readonly #context: Context;
  readonly #span: Span | undefined;
  readonly #contents: Promise<void>[] = [];
  readonly #since = monotonic();
  #attributes: Attributes = {};

  constructor(otel: Otel, parent: Context, name: string, { kind, attributes, before = [] }: SpanStart) {
    const links = linksTo(before);
    const options = { attributes, links, kind };
    this.#otel = otel;
    this.#span = safely(otel, () => otel.trace.getTracer(SCOPE).startSpan(name, options, parent));
    this.#context = safely(otel, () => (this.#span ? otel.trace.setSpan(parent, this.#span) : parent), parent);
  }

  get context(): Context {
    return this.#context;
  }

  get isRecorded(): boolean {
    return safely(this.#otel, () => this.#span?.isRecording() ?? false, false);
  }

  get traceparent(): string | undefined {
    return placeOf(this.#otel, () => this.#span?.spanContext());
  }

  get seconds(): number {
    return (monotonic() - this.#since) / 1000;
  }

  run<Value>(work: () => Value): Value {
    return within(this.#otel, this.#context, work);
  }

  set(attributes: Attributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
  }

  /** Sets an attribute to a content, which may still be redacted. */
  setContent(name: string, content: string | Promise<string>): void {
    if (typeof content === "string") this.set({ [name]: content });
    else this.#contents.push(content.then((text) => this.set({ [name]: text })));
  }

  /** Ends the span, with `code` as its `error.type`. Returns a promise if a content is still being redacted. */
  end(code?: string): void | Promise<void> {
    if (code !== undefined) this.set({ "error.type": code });
    if (this.#contents.length === 0) return this.#end(code);
    const at = now();
    return Promise.allSettled(this.#contents).then(() => this.#end(code, at));
  }

  #end(code: string | undefined, at?: number): void {
    const span = this.#span;
    safely(this.#otel, () => span?.setAttributes(this.#attributes));
    if (code !== undefined) safely(this.#otel, () => span?.setStatus({ code: this.#otel.SpanStatusCode.ERROR }));
    safely(this.#otel, () => span?.end(at));
  }
}

function linksTo(before: readonly (string | undefined)[]): Link[] {
  return [...new Set(before)].flatMap((text) => {
    const place = text === undefined ? undefined : parseTraceParent(text);
    return place ? [{ context: { ...place, isRemote: true } }] : [];
  });
}

/** Characters of a name or an id in an attribute: ids of calls come from providers. */
const WORD_CHARACTERS = 128;

/** A short text that every exporter can encode, in one line. */
export function word(text: string): string {
  const short = text.length > WORD_CHARACTERS ? `${text.slice(0, WORD_CHARACTERS)}…` : text;
  return short.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\u{fffd}");
}

/** Names of providers in the GenAI conventions that differ from the prefix of a model's name. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ["openai-chat", "openai"],
  ["gemini", "gcp.gemini"],
]);

/** The attributes of a model that is named like `anthropic:claude-opus-4-5`. */
export function modelAttributes(name: string) {
  const colon = name.indexOf(":");
  const provider = colon === -1 ? "unknown" : name.slice(0, colon);
  return {
    "gen_ai.provider.name": word(PROVIDERS.get(provider) ?? provider),
    "gen_ai.request.model": word(name.slice(colon + 1)),
  };
}
