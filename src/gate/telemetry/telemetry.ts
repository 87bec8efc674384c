import type { Context } from "@opentelemetry/api";
import { given } from "../../base/index.ts";
import { CallSpans, type SpanParts, toolAttributes } from "./call-span.ts";
import { placeOf, safely } from "./otel.ts";
import { modelAttributes, word, SafeSpan } from "./span.ts";
import { ConversationSpan, WorkSpan } from "./work-span.ts";

export type { CallSpan, CallSpans } from "./call-span.ts";
export type { ChatEnd, ConversationSpan, WorkEnd, WorkSpan } from "./work-span.ts";

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
    const span = new SafeSpan(otel, this.#active, `execute_tool ${RUN_PROGRAM}`, { attributes, ...given({ before }) });
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
    const span = new SafeSpan(otel, this.#active, "invoke_agent", { attributes, ...given({ before }) });
    return new ConversationSpan(this.#parts, span, conversation);
  }

  /** For calls that a host makes itself, below the span that is active. */
  hostCalls(): CallSpans {
    return new CallSpans(this.#parts, this.#active);
  }

  /** The active span as `traceparent`; undefined if no span is active. */
  get here(): string | undefined {
    const { otel } = this.#parts;
    return placeOf(otel, () => otel.trace.getSpanContext(this.#active));
  }

  /** Counts the bytes of a program's result that a model is given. */
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
