/*
 * Requests to an owner, over HTTP. A call's facts travel in headers, so that they are checked before a byte of its input is
 * read; the body is the input alone.
 *
 *   POST /v1/calls      runs a tool                       ◀ the key of the execution
 *   POST /v1/approval   whether a call needs approval     ◀ the key of the execution
 *   POST /v1/cancel     the call has ended, aborts it      ◀ the key of the execution
 *   GET  /v1/ready      the key holds, and the owner runs ◀ the key of the execution
 *   GET  /v1/tools      the declarations                  ◀ a key for that
 */
import { z } from "zod";

export const PATHS = {
  call: "/v1/calls",
  approval: "/v1/approval",
  cancel: "/v1/cancel",
  ready: "/v1/ready",
  tools: "/v1/tools",
} as const;

export const HEADERS = {
  /** Id of the call, and name of the tool, encoded as parts of an address are. The answer repeats the id. */
  call: "portcullis-call",
  tool: "portcullis-tool",
  /** Digest of the tool's definition, as the program was submitted with it. */
  definition: "portcullis-definition",
  /** Milliseconds that the caller waits. */
  timeout: "portcullis-timeout",
  /** The owner that the call may have reached before. */
  sentTo: "portcullis-sent-to",
  /** The owner that answers. */
  owner: "portcullis-owner",
} as const;

/** Why an owner does not do what it is asked. It has done nothing then, except where it says that it may have. */
export const OWNER_PROBLEMS = {
  request_invalid: 400,
  owner_key_invalid: 401,
  owner_key_expired: 401,
  path_unknown: 404,
  tool_unknown: 404,
  call_conflict: 409,
  tool_changed: 409,
  outcome_unknown: 409,
  call_cancelled: 409,
  input_too_large: 413,
  owner_busy: 503,
  owner_closing: 503,
} as const;
export type OwnerProblem = keyof typeof OWNER_PROBLEMS;

const PROBLEM = z.strictObject({
  error: z.strictObject({ code: z.enum(Object.keys(OWNER_PROBLEMS) as OwnerProblem[]), message: z.string() }),
});

/** What came of a call, as the owner's gate says it. */
const ANSWER = z.union([
  z.strictObject({
    ok: z.literal(true),
    value: z.unknown(),
    /** What people are shown beside it. */
    shown: z.strictObject({ display: z.unknown().exactOptional(), source: z.string().exactOptional() }).exactOptional(),
  }),
  z.strictObject({ ok: z.literal(false), code: z.string(), message: z.string(), value: z.unknown().exactOptional() }),
]);
export type WireAnswer = z.infer<typeof ANSWER>;

/** Undefined for a body that no owner sends. */
export function readProblem(body: unknown): { readonly code: OwnerProblem; readonly message: string } | undefined {
  return PROBLEM.safeParse(body).data?.error;
}

export function readAnswer(body: unknown): WireAnswer | undefined {
  return ANSWER.safeParse(body).data;
}

/** An address to which paths are added. */
export function withoutSlash(url: string): string {
  return url.endsWith("/") ? url.slice(0, -1) : url;
}
