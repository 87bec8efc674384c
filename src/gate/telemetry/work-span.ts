import type { Attributes } from "@opentelemetry/api";
import type { TokenUsage } from "../../tools/token-usage.ts";
import { CallSpans, failureAttributes, type SpanParts } from "./call-span.ts";
import { safely } from "./otel.ts";
import { modelAttributes, SafeSpan, word } from "./span.ts";

export interface WorkEnd {
  /** One word, like `completed`. */
  readonly outcome: string;
  /** Code of a failure, never chosen by a program; undefined without a failure. */
  readonly code?: string | undefined;
  /** Amounts that the work has used, by name: counts, bytes or milliseconds. */
  readonly usage?: Readonly<Record<string, number>>;
  /** The value as JSON text. It is kept only if results are captured. */
  readonly value?: string | undefined;
  /** The message of a fault. It is kept only if results are captured. */
  readonly fault?: string | undefined;
}

export interface ChatEnd {
  /** Why the model stopped, as GenAI conventions name it: `stop`, `tool_calls`, `length`, `content_filter`. */
  readonly finish?: string | undefined;
  /** Code of the provider's failure. */
  readonly code?: string | undefined;
  readonly usage?: TokenUsage | undefined;
  /** Whom the turn came from: ids of the provider, and versions of what read it. */
  readonly origin?: ChatOrigin | undefined;
}

interface ChatOrigin {
  readonly message?: string;
  readonly request?: string;
  readonly sdk?: string;
  readonly portcullis?: string;
}

/** The span of an execution or a conversation, for as long as one driver drives it, with the spans below it. */
export class WorkSpan extends CallSpans {
  /** For the journal; undefined if it cannot be linked to. */
  readonly traceparent: string | undefined;
  /** @internal */
  protected readonly span: SafeSpan;
  /** Kind of the work in metrics: `run_program` or `invoke_agent`. */
  readonly #kind: string;

  /** @internal */
  constructor(parts: SpanParts, span: SafeSpan, kind: string) {
    super(parts, span.context);
    this.span = span;
    this.#kind = kind;
    this.traceparent = span.traceparent;
  }

  /** Runs work, while the span is active. */
  run<Value>(work: () => Value): Value {
    return this.span.run(work);
  }

  /** Resolves once the captured texts are redacted and the span has ended. */
  async end({ outcome, code, usage = {}, value, fault }: WorkEnd): Promise<void> {
    const { contents } = this.parts;
    const used = Object.entries(usage).map(([name, amount]) => [`portcullis.${name}`, amount] as const);
    this.span.set({ "portcullis.outcome": outcome, ...Object.fromEntries(used) });
    if (contents.has("results") && this.span.isRecorded) {
      if (value !== undefined) this.span.setContent("gen_ai.tool.call.result", contents.json(value, {}));
      if (fault !== undefined) this.span.setContent("portcullis.fault", contents.text(fault));
    }
    const { seconds } = this.span;
    await this.settled();
    await this.span.end(code);
    const attributes = { "portcullis.kind": this.#kind, "portcullis.outcome": outcome, ...failureAttributes(code) };
    this.parts.figures.note("executions", 1, attributes);
    this.parts.figures.note("executionDuration", seconds, attributes);
  }

  /** Ends the span of work that was not begun, as an error if there is a code. The work is not counted among the executions. */
  async notBegun(code: string | undefined): Promise<void> {
    this.span.set({ "portcullis.outcome": "not_begun" });
    await this.span.end(code);
  }
}

export class ConversationSpan extends WorkSpan {
  readonly #conversation: Attributes;
  #used: TokenUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };

  /** @internal `conversation` has the attributes that identify the conversation; the spans of its turns have them too. */
  constructor(parts: SpanParts, span: SafeSpan, conversation: Attributes) {
    super(parts, span, "invoke_agent");
    this.#conversation = conversation;
  }

  override end(end: WorkEnd): Promise<void> {
    this.span.set(tokenAttributes(this.#used));
    return super.end(end);
  }

  /** Asks a model for a turn, within a span of its own. `endOf` says how it ended. */
  async chat<Reply>(model: string, ask: () => Promise<Reply>, endOf: (reply: Reply) => ChatEnd): Promise<Reply> {
    const { otel } = this.parts;
    const named = modelAttributes(model);
    const attributes = { "gen_ai.operation.name": "chat", ...named };
    const kind = safely(otel, () => otel.SpanKind.CLIENT);
    const span = new SafeSpan(otel, this.span.context, `chat ${named["gen_ai.request.model"]}`, {
      attributes: { ...attributes, ...this.#conversation },
      ...(kind === undefined ? {} : { kind }),
    });
    try {
      const reply = await span.run(ask);
      this.#endChat(span, attributes, endOf(reply));
      return reply;
    } catch (error) {
      this.#endChat(span, attributes, { code: "request_refused" });
      throw error;
    }
  }

  #endChat(span: SafeSpan, attributes: Attributes, { finish, code, usage, origin }: ChatEnd): void {
    const { figures } = this.parts;
    if (origin) span.set(originAttributes(origin));
    if (finish !== undefined) span.set({ "gen_ai.response.finish_reasons": [finish] });
    if (usage) {
      span.set(tokenAttributes(usage));
      this.#used = {
        inputTokens: this.#used.inputTokens + usage.inputTokens,
        outputTokens: this.#used.outputTokens + usage.outputTokens,
        cachedInputTokens: this.#used.cachedInputTokens + usage.cachedInputTokens,
      };
    }
    const { seconds } = span;
    void span.end(code);
    figures.note("operationDuration", seconds, { ...attributes, ...failureAttributes(code) });
    if (!usage) return;
    const { inputTokens, outputTokens } = usage;
    figures.note("tokenUsage", inputTokens, { ...attributes, "gen_ai.token.type": "input" });
    figures.note("tokenUsage", outputTokens, { ...attributes, "gen_ai.token.type": "output" });
  }
}

const ORIGINS = {
  message: "gen_ai.response.id",
  request: "portcullis.request_id",
  sdk: "portcullis.sdk",
  portcullis: "portcullis.version",
} as const;

function originAttributes(origin: ChatOrigin): Attributes {
  const named = Object.entries(ORIGINS) as [keyof ChatOrigin, string][];
  return Object.fromEntries(named.map(([field, name]) => [name, origin[field] && word(origin[field])]));
}

function tokenAttributes({ inputTokens, outputTokens, cachedInputTokens }: TokenUsage): Attributes {
  return {
    "gen_ai.usage.input_tokens": inputTokens,
    "gen_ai.usage.output_tokens": outputTokens,
    "gen_ai.usage.cache_read.input_tokens": cachedInputTokens,
  };
}
