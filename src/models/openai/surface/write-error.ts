import type { Refusal, RefusalKind } from "../../surface/surface.ts";

/** The provider's status, type and code for each kind: the other end of `../../provider/provider-failure.ts`. */
const KINDS: Readonly<Record<RefusalKind, readonly [status: number, type: string, code: string | null]>> = {
  invalid: [400, "invalid_request_error", null],
  unauthorized: [401, "invalid_request_error", "invalid_api_key"],
  forbidden: [403, "invalid_request_error", "insufficient_permissions"],
  not_found: [404, "invalid_request_error", null],
  too_large: [413, "invalid_request_error", null],
  rate_limited: [429, "rate_limit_error", "rate_limit_exceeded"],
  failed: [500, "server_error", "server_error"],
  timed_out: [504, "server_error", "server_error"],
  overloaded: [503, "server_error", "server_error"],
};

export function errorOf({ kind, message, place, code }: Refusal) {
  const [, type, ofKind] = KINDS[kind];
  const own = kind === "not_found" && place === "model" ? "model_not_found" : ofKind;
  return { message, type, param: place ?? null, code: code ?? own };
}

export function errorStatus({ kind }: Refusal): number {
  return KINDS[kind][0];
}
