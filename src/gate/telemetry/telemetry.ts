import type { Attributes } from "@opentelemetry/api";
import { type CallSpans, callSpans, failureAttributes, toolAttributes } from "./call-span.ts";
import { spanPlace, safely } from "./otel.ts";
import { modelAttributes, safeSpan, type SafeSpan, type SpanParts, word } from "./span.ts";
import type { TokenUsage } from "../../tools/token-usage.ts";
import { addTokens } from "../admit/budget.ts";

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
 * records: otherwise a report costs a comparison. No function throws, whatever its providers, spans and instruments do.
 */
export interface Telemetry {
  /** Begins the span of a program's execution, below the span that is active. */
  readonly beginProgram: (work: ProgramWork) => WorkSpan;
  /** Begins the span of a conversation that is driven, below the span that is active. */
  readonly beginConversation: (work: ConversationWork) => ConversationSpan;
  readonly hostCalls: () => CallSpans;
  /** The active span as `traceparent`; undefined if no span is active. */
  readonly here: string | undefined;
  readonly noteOutput: (bytes: number) => void;
}

/** @internal */
export function telemetryOf(parts: SpanParts): Telemetry {
  const { otel, figures } = parts;
  const active = () => safely(otel, () => otel.context.active(), otel.ROOT_CONTEXT);
  return {
    beginProgram({ execution, tenant, language, sandbox, source, callId, before }) {
      const attributes = {
        ...toolAttributes(RUN_PROGRAM, callId),
        ...ownAttributes(execution, tenant),
        "portcullis.language": word(language),
        "portcullis.sandbox": word(sandbox),
      };
      const span = safeSpan(parts, active(), `execute_tool ${RUN_PROGRAM}`, { attributes, before });
      span.capture("programs", "portcullis.program", source, { tool: RUN_PROGRAM }, "text");
      return workSpan(parts, span, RUN_PROGRAM);
    },

    beginConversation({ execution, tenant, model, before }) {
      const conversation = { "gen_ai.conversation.id": word(execution) };
      const attributes = {
        "gen_ai.operation.name": "invoke_agent",
        ...modelAttributes(model),
        ...conversation,
        ...ownAttributes(execution, tenant),
      };
      const span = safeSpan(parts, active(), "invoke_agent", { attributes, before });
      return conversationSpan(parts, span, conversation);
    },

    hostCalls: () => callSpans(parts, active()),

    get here() {
      return spanPlace(otel, () => otel.trace.getSpanContext(active()));
    },

    noteOutput: (bytes) => figures.note("returned", bytes),
  };
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
export interface WorkSpan extends CallSpans {
  /** For the journal; undefined if it cannot be linked to. */
  readonly traceparent: string | undefined;
  readonly run: <Value>(work: () => Value) => Value;
  /** Resolves once the captured texts are redacted and the span has ended. */
  readonly end: (end: WorkEnd) => Promise<void>;
  /** Ends the span of work that was not begun, as an error if there is a code. The work is not counted among the executions. */
  readonly notBegun: (code: string | undefined) => Promise<void>;
}

/** `kind` is that of the work in metrics: `run_program` or `invoke_agent`. */
function workSpan(parts: SpanParts, span: SafeSpan, kind: string): WorkSpan {
  const { figures } = parts;
  const calls = callSpans(parts, span.context);
  return {
    ...calls,
    traceparent: span.traceparent,
    run: span.run,

    async end({ outcome, code, usage = {}, value, fault }) {
      const used = Object.entries(usage).map(([name, amount]) => [`portcullis.${name}`, amount] as const);
      span.set({ "portcullis.outcome": outcome, ...Object.fromEntries(used) });
      span.capture("results", "gen_ai.tool.call.result", value, {}, "json");
      span.capture("results", "portcullis.fault", fault, {}, "text");
      const { seconds } = span;
      await calls.settled();
      await span.end(code);
      const attributes = { "portcullis.kind": kind, "portcullis.outcome": outcome, ...failureAttributes(code) };
      figures.note("executions", 1, attributes);
      figures.note("executionDuration", seconds, attributes);
    },

    async notBegun(code) {
      span.set({ "portcullis.outcome": "not_begun" });
      await span.end(code);
    },
  };
}

export interface ConversationSpan extends WorkSpan {
  /** Asks a model for a turn, within a span of its own. `endOf` says how it ended. */
  readonly chat: <Reply>(model: string, ask: () => Promise<Reply>, endOf: (reply: Reply) => ChatEnd) => Promise<Reply>;
}

/** `conversation` has the attributes that identify the conversation; the spans of its turns have them too. */
function conversationSpan(parts: SpanParts, span: SafeSpan, conversation: Attributes): ConversationSpan {
  const { otel, figures } = parts;
  const work = workSpan(parts, span, "invoke_agent");
  let used: TokenUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };

  const endChat = (chat: SafeSpan, attributes: Attributes, { finish, code, usage, origin }: ChatEnd): void => {
    const { message, request } = origin ?? {};
    if (message !== undefined) chat.set({ "gen_ai.response.id": word(message) });
    if (request !== undefined) chat.set({ "portcullis.request_id": word(request) });
    if (finish !== undefined) chat.set({ "gen_ai.response.finish_reasons": [finish] });
    if (usage) {
      chat.set(tokenAttributes(usage));
      used = addTokens(used, usage);
    }
    const { seconds } = chat;
    void chat.end(code);
    figures.note("operationDuration", seconds, { ...attributes, ...failureAttributes(code) });
    if (!usage) return;
    const { inputTokens, outputTokens } = usage;
    figures.note("tokenUsage", inputTokens, { ...attributes, "gen_ai.token.type": "input" });
    figures.note("tokenUsage", outputTokens, { ...attributes, "gen_ai.token.type": "output" });
  };

  return {
    ...work,

    end(end) {
      span.set(tokenAttributes(used));
      return work.end(end);
    },

    async chat(model, ask, endOf) {
      const named = modelAttributes(model);
      const attributes = { "gen_ai.operation.name": "chat", ...named };
      const kind = safely(otel, () => otel.SpanKind.CLIENT);
      const chat = safeSpan(parts, span.context, `chat ${named["gen_ai.request.model"]}`, {
        attributes: { ...attributes, ...conversation },
        kind,
      });
      try {
        const reply = await chat.run(ask);
        endChat(chat, attributes, endOf(reply));
        return reply;
      } catch (error) {
        endChat(chat, attributes, { code: "request_refused" });
        throw error;
      }
    },
  };
}

function tokenAttributes({ inputTokens, outputTokens, cachedInputTokens }: TokenUsage): Attributes {
  return {
    "gen_ai.usage.input_tokens": inputTokens,
    "gen_ai.usage.output_tokens": outputTokens,
    "gen_ai.usage.cache_read.input_tokens": cachedInputTokens,
  };
}
