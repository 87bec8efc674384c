/** A place in a trace, as the header `traceparent` of W3C Trace Context has it. */
export interface TracePlace {
  readonly traceId: string;
  readonly spanId: string;
  /** 1 where the trace is recorded, else 0. */
  readonly traceFlags: number;
}

/** Version, trace, span and flags; a version after 00 may have more. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[ -~]{0,200})?$/;
const ZERO = /^0{16,32}$/;

/** Reads a `traceparent`, which may be any text; undefined where it is none. */
export function parseTraceParent(text: string): TracePlace | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] = FORM.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (ZERO.test(traceId) || ZERO.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}

export function traceParentOf({ traceId, spanId, traceFlags }: TracePlace): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`;
}
