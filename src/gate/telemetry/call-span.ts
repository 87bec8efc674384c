import type { Attributes, Context } from "@opentelemetry/api";
import { monotonic } from "../../base/index.ts";
import { safeSpan, type SpanParts, word } from "./span.ts";

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

export interface SpanEnd {
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
export interface CallSpans {
  readonly begin: (work: CallWork) => CallSpan;
  /** Resolves once all spans that have ended so far are passed on. */
  readonly settled: () => Promise<void>;
}

export interface CallSpan {
  readonly run: <Value>(handler: () => Value) => Value;
  readonly end: (end: SpanEnd) => void;
}

/** @internal */
export function callSpans(parts: SpanParts, parent: Context): CallSpans {
  /** Ends of spans that wait for a redaction. */
  const late = new Set<Promise<void>>();
  return {
    begin: (work) => callSpan(parts, parent, work, late),
    settled: async () => void (await Promise.allSettled(late)),
  };
}

function callSpan(
  parts: SpanParts,
  parent: Context,
  { callId, tool, caller, inputText, isClients }: CallWork,
  ends: Set<Promise<void>>,
): CallSpan {
  const attributes = { ...toolAttributes(tool, callId), "portcullis.caller": caller };
  const name = tool === undefined ? "execute_tool" : `execute_tool ${word(tool)}`;
  const span = safeSpan(parts, parent, name, { attributes });
  span.capture("inputs", "gen_ai.tool.call.arguments", inputText, { tool, callId }, "json");
  let started: number | undefined;
  return {
    run(handler) {
      started = monotonic();
      span.set({ "portcullis.call.wait_ms": Math.round(span.seconds * 1000) });
      return span.run(handler);
    },

    end({ outcome, code, bytes, items, text }) {
      const { figures } = parts;
      span.set({ "portcullis.outcome": outcome, "portcullis.result.size": bytes });
      if (items !== undefined) span.set({ "portcullis.result.items": items });
      span.capture("results", "gen_ai.tool.call.result", text, { tool, callId }, "json");
      const late = span.end(outcome === "aborted" ? "aborted" : code);
      if (late) {
        ends.add(late);
        void late.finally(() => ends.delete(late));
      }
      if (outcome === "waiting") return;
      const toolName = isClients ? undefined : tool;
      const failure = failureAttributes(code);
      if (started !== undefined)
        figures.note("toolDuration", (monotonic() - started) / 1000, { ...toolAttributes(toolName), ...failure });
      const about = toolName === undefined ? {} : { "gen_ai.tool.name": word(toolName) };
      figures.note("calls", 1, { ...about, ...failure, "portcullis.outcome": outcome });
      if (bytes > 0) figures.note("fetched", bytes, about);
      if (items) figures.note("streamed", items, about);
    },
  };
}

/** @internal */
export function failureAttributes(code: string | undefined): Attributes {
  return code === undefined ? {} : { "error.type": code };
}

/** @internal The attributes of a call, without a name for an unknown tool. */
export function toolAttributes(tool: string | undefined, callId?: string): Attributes {
  return {
    "gen_ai.operation.name": "execute_tool",
    ...(tool !== undefined && { "gen_ai.tool.name": word(tool) }),
    "gen_ai.tool.type": "function",
    ...(callId !== undefined && { "gen_ai.tool.call.id": word(callId) }),
  };
}
