import type { Attributes, Context, Link, SpanKind } from "@opentelemetry/api";
import type { About } from "../../journal/redaction/redactor.ts";
import { monotonic, now } from "../../base/index.ts";
import type { Contents } from "./contents.ts";
import type { FigureSink } from "./metric-table.ts";
import type { Capture } from "./options.ts";
import { type Otel, parseTraceParent, spanPlace, safely, SCOPE, within } from "./otel.ts";

/** @internal The types of OpenTelemetry, which is optional, are in no declaration of the package. */
export interface SpanParts {
  readonly otel: Otel;
  readonly figures: FigureSink;
  readonly contents: Contents;
}

export interface SpanStart {
  readonly kind?: SpanKind | undefined;
  readonly attributes: Attributes;
  /** Spans of earlier drivers, as `traceparent`; from a journal, so each may be any text. */
  readonly before?: readonly (string | undefined)[] | undefined;
}

/** A span. Nothing that the SDK throws leaves it. */
export type SafeSpan = ReturnType<typeof safeSpan>;

/** @internal */
export function safeSpan(
  { otel, contents }: SpanParts,
  parent: Context,
  name: string,
  { kind, attributes, before = [] }: SpanStart,
) {
  const since = monotonic();
  const options = { attributes, links: linksTo(before), kind };
  const span = safely(otel, () => otel.trace.getTracer(SCOPE).startSpan(name, options, parent));
  const context = safely(otel, () => (span ? otel.trace.setSpan(parent, span) : parent), parent);
  const late: Promise<void>[] = [];
  let noted: Attributes = {};

  const set = (more: Attributes): void => {
    noted = { ...noted, ...more };
  };

  const close = (code: string | undefined, at?: number): void => {
    safely(otel, () => span?.setAttributes(noted));
    if (code !== undefined) safely(otel, () => span?.setStatus({ code: otel.SpanStatusCode.ERROR }));
    safely(otel, () => span?.end(at));
  };

  return {
    context,
    set,

    get traceparent(): string | undefined {
      return spanPlace(otel, () => span?.spanContext());
    },

    get seconds(): number {
      return (monotonic() - since) / 1000;
    },

    run: <Value>(work: () => Value): Value => within(otel, context, work),

    /** Sets an attribute to a content, if contents of its kind are captured. It may have to be redacted first. */
    capture(kind: Capture, name: string, text: string | undefined, about: Omit<About, "to">, form: "json" | "text") {
      const isKept = text !== undefined && contents.has(kind);
      if (!isKept || !safely(otel, () => span?.isRecording() ?? false, false)) return;
      const content = contents[form](text, about);
      if (typeof content === "string") set({ [name]: content });
      else late.push(content.then((shown) => set({ [name]: shown })));
    },

    /** Ends the span, with `code` as its `error.type`. Returns a promise if a content is still being redacted. */
    end(code?: string): void | Promise<void> {
      if (code !== undefined) set({ "error.type": code });
      if (late.length === 0) return close(code);
      const at = now();
      return Promise.allSettled(late).then(() => close(code, at));
    },
  };
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
