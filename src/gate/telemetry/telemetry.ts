import type { Attributes, Context } from "@opentelemetry/api";
import { CallSpans, failureAttributes, type SpanParts, toolAttributes } from "./call-span.ts";
import { placeOf, safely } from "./otel.ts";
import { modelAttributes, SafeSpan, word } from "./span.ts";
import { addTokens, type TokenUsage } from "../../tools/token-usage.ts";

export type { CallSpan, CallSpans } from "./call-span.ts";

/** Programs are calls of this tool, wherever they run. */
const RUN_PROGRAM = "run_program";

interface Work {
  readonly execution: string;
  readonly tenant: string;
  /** Spans of the first and the last earlier driver, as the journal has them. The new span has links to them. */
  readonly before?: readonly (string | undefined)[];
}

export interface ProgramWork extends Work {
  readonly language: string;
  readonly sandbox: string;
  readonly source: string;
  /** The call of a conversation that the program belongs to. */
  readonly callId?: string | undefined;
}

export interface ConversationWork extends Work {
  /** Provider and model, like `anthropic:claude-opus-4-5`. */
  readonly model: string;
}

/**
 * Reports the runtime's work to OpenTelemetry, by its conventions for generative AI. A scope has a `Telemetry` only while an SDK
 * records: otherwise a report costs a comparison. No method throws, whatever its providers, spans and instruments do.
 */
export class Telemetry {
  readonly #parts: SpanParts;

  /** @internal */
  constructor(parts: SpanParts) {
    this.#parts = parts;
  }

  /** Begins the span of a program's execution, below the span that is active. */
  beginProgram({ execution, tenant, language, sandbox, source, callId, before }: ProgramWork): WorkSpan {
    const { otel, contents } = this.#parts;
    const attributes = {
      ...toolAttributes(RUN_PROGRAM, callId),
      ...ownAttributes(execution, tenant),
      "portcullis.language": word(language),
      "portcullis.sandbox": word(sandbox),
    };
    const span = new SafeSpan(otel, this.#active, `execute_tool ${RUN_PROGRAM}`, { attributes, before });
    if (contents.has("programs") && span.isRecorded)
      span.setContent("portcullis.program", contents.text(source, { tool: RUN_PROGRAM }));
    return new WorkSpan(this.#parts, span, RUN_PROGRAM);
  }

  /** Begins the span of a conversation that is driven, below the span that is active. */
  beginConversation({ execution, tenant, model, before }: ConversationWork): ConversationSpan {
    const { otel } = this.#parts;
    const conversation = { "gen_ai.conversation.id": word(execution) };
    const attributes = {
      "gen_ai.operation.name": "invoke_agent",
      ...modelAttributes(model),
      ...conversation,
      ...ownAttributes(execution, tenant),
    };
    const span = new SafeSpan(otel, this.#active, "invoke_agent", { attributes, before });
    return new ConversationSpan(this.#parts, span, conversation);
  }

  hostCalls(): CallSpans {
    return new CallSpans(this.#parts, this.#active);
  }

  /** The active span as `traceparent`; undefined if no span is active. */
  get here(): string | undefined {
    const { otel } = this.#parts;
    return placeOf(otel, () => otel.trace.getSpanContext(this.#active));
  }

  noteOutput(bytes: number): void {
    this.#parts.figures.note("returned", bytes);
  }

  get #active(): Context {
    const { otel } = this.#parts;
    return safely(otel, () => otel.context.active(), otel.ROOT_CONTEXT);
  }
}

function ownAttributes(execution: string, tenant: string) {
  return { "portcullis.execution.id": word(execution), "portcullis.tenant": word(tenant) };
}

export interface WorkEnd {
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
  readonly code?: string | undefined;
  readonly usage?: TokenUsage | undefined;
  /** Whom the turn came from: the provider's ids of its message and of the request for it. */
  readonly origin?: { readonly message?: string; readonly request?: string } | undefined;
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
      kind,
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
    const { message, request } = origin ?? {};
    if (message !== undefined) span.set({ "gen_ai.response.id": word(message) });
    if (request !== undefined) span.set({ "portcullis.request_id": word(request) });
    if (finish !== undefined) span.set({ "gen_ai.response.finish_reasons": [finish] });
    if (usage) {
      span.set(tokenAttributes(usage));
      this.#used = addTokens(this.#used, usage);
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

function tokenAttributes({ inputTokens, outputTokens, cachedInputTokens }: TokenUsage): Attributes {
  return {
    "gen_ai.usage.input_tokens": inputTokens,
    "gen_ai.usage.output_tokens": outputTokens,
    "gen_ai.usage.cache_read.input_tokens": cachedInputTokens,
  };
}
