import type { Context } from "@opentelemetry/api";
import { given } from "../option-rules/given.ts";
import { OtelCallSpans, type SpanParts, toolAttributes } from "./call-span.ts";
import { placeOf, safely } from "./otel.ts";
import { modelAttributes, word, SafeSpan } from "./span.ts";
import type { CallSpans, ConversationSpan, ConversationWork, ProgramWork, Telemetry, WorkSpan } from "./telemetry.ts";
import { OtelConversationSpan, OtelWorkSpan } from "./work-span.ts";

/** Programs are calls of this tool, wherever they run. */
const RUN_PROGRAM = "run_program";

/** Reports to OpenTelemetry, by its conventions for generative AI. */
export class OtelTelemetry implements Telemetry {
  readonly #parts: SpanParts;

  constructor(parts: SpanParts) {
    this.#parts = parts;
  }

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
    return new OtelWorkSpan(this.#parts, span, RUN_PROGRAM);
  }

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
    return new OtelConversationSpan(this.#parts, span, conversation);
  }

  hostCalls(): CallSpans {
    return new OtelCallSpans(this.#parts, this.#active);
  }

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
