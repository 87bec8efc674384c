import type { Fields } from "../../../values/fields.ts";
import type { Refusal, RefusalKind } from "../../surface/surface.ts";

/** The provider's status and word for each kind: the other end of `../../provider/provider-failure.ts`. */
const KINDS: Readonly<Record<RefusalKind, readonly [status: number, type: string]>> = {
  invalid: [400, "invalid_request_error"],
  unauthorized: [401, "authentication_error"],
  forbidden: [403, "permission_error"],
  not_found: [404, "not_found_error"],
  too_large: [413, "request_too_large"],
  rate_limited: [429, "rate_limit_error"],
  failed: [500, "api_error"],
  timed_out: [504, "timeout_error"],
  overloaded: [529, "overloaded_error"],
};

export function errorBody({ kind, message, code }: Refusal, requestId: string): Fields {
  const details = code === undefined ? {} : { details: { error_code: code, unsupported: [] } };
  return { type: "error", error: { type: KINDS[kind][1], message, ...details }, request_id: requestId };
}

export function errorStatus({ kind }: Refusal): number {
  return KINDS[kind][0];
}
