import { PortcullisError } from "../../base/index.ts";
import { withoutPrefixes } from "../tenant-ids.ts";

/** What is known of all refusals with one code. */
interface Refusal {
  readonly status: number;
  /** What a client reads in place of the runtime's message, which may name files, options of the host, or tools that the client may not call. */
  readonly says?: string;
  /** Seconds after which a client may try again. */
  readonly retryAfter?: number;
  /** The operator has nothing to do. */
  readonly isExpected?: true;
}

/** Refusals by the server itself, each with a message of its own, and errors of the runtime that a client is told. */
const REFUSALS = {
  request_invalid: { status: 400 },
  key_unknown: { status: 401 },
  key_expired: { status: 401 },
  origin_refused: { status: 403 },
  scope_missing: { status: 403 },
  path_unknown: { status: 404 },
  artifact_unknown: { status: 404 },
  session_unknown: { status: 404 },
  method_unknown: { status: 405 },
  body_too_large: { status: 413 },
  answer_too_large: { status: 413 },
  body_not_json: { status: 415 },
  body_coded: { status: 415 },
  host_unknown: { status: 421 },
  rate_exceeded: { status: 429 },
  too_many_at_once: { status: 429, retryAfter: 1 },
  server_failed: {
    status: 500,
    says: "The server failed to handle the request. Its operator was told why. No data is known to be lost.",
  },
  server_closing: { status: 503, retryAfter: 5, isExpected: true },
  mcp_unavailable: { status: 503, isExpected: true },

  option_invalid: { status: 400 },
  decision_exists: { status: 409 },
  key_revoked: {
    status: 401,
    says: "This key was changed or revoked, or has expired. What it had under way was ended.",
  },
  execution_unknown: {
    status: 404,
    says: "There is no execution or conversation of this id. GET /v1/executions lists those that there are.",
  },
  call_unknown: {
    status: 404,
    says: "There is no such call, or it does not wait for what was given. What waits is told by: GET /v1/executions/ID",
  },
  execution_open: {
    status: 409,
    says: "The execution that `corrects` names has not ended. Wait for its end, or cancel it: POST /v1/executions/ID/cancel",
  },
  execution_exists: {
    status: 409,
    says: "There is another execution or conversation of this id already. Choose another id.",
  },
  approval_expired: {
    status: 409,
    says: "The call has waited for longer than its execution allows. Nothing was noted, and the execution goes on without it.",
  },
  execution_driven: {
    status: 409,
    says: "Another request, another server or code of the host goes on with this execution. Wait for it, then try again.",
  },
  tools_changed: {
    status: 409,
    says: "This key does not have the tools that the execution began with, as they were then. Go on with a key that has them, or begin another one.",
  },
  journal_redacted: {
    status: 409,
    says: "The server takes parts out of what its journal holds. What a program would be run or given without them was not noted: send it without such parts, or answer with an error. A conversation out of which some were taken cannot go on: begin another one.",
  },
  model_unavailable: {
    status: 409,
    says: "The server cannot use the model of this conversation. Tell its operator, or begin another one.",
  },
  head_moved: {
    status: 409,
    says: "Another request or another server has gone on with this execution meanwhile. Read it, then try again.",
  },
  conversation_busy: {
    status: 409,
    says: "The conversation is at work. Wait for it, or interrupt it: POST /v1/conversations/ID/interrupt",
  },
  conversation_ended: { status: 409, says: "The conversation has ended. Begin another one: POST /v1/conversations" },
  conversation_moved: {
    status: 409,
    says: "The conversation has another number of the user's messages than `expect`. Nothing was said. Read it, then say what is still to be said.",
  },
  busy: {
    status: 503,
    says: "The server already runs, queues or holds as many executions as it may. Nothing was started. Try again later, or end some that wait.",
    retryAfter: 2,
    isExpected: true,
  },
  queue_full: {
    status: 503,
    says: "Too many programs wait for an engine. Nothing was started. Try again later.",
    retryAfter: 2,
    isExpected: true,
  },
  sandbox_unavailable: {
    status: 503,
    says: "The server cannot run this program: its sandbox is missing, or does not run the language.",
  },
  runtime_closed: {
    status: 503,
    says: "The server is closing. Nothing was started. Try again later.",
    retryAfter: 5,
    isExpected: true,
  },
  runtime_suspended: {
    status: 503,
    says: "The server is closing. The execution stays open in the journal and continues at the server's next start: request it then.",
    retryAfter: 5,
    isExpected: true,
  },
  journal_gone: {
    status: 503,
    says: "The server's journal is gone. Nothing was written. Its operator has to restore it.",
  },
  journal_locked: {
    status: 503,
    says: "The server's journal is locked by another process. Nothing was written. Try again.",
    retryAfter: 2,
  },
  journal_unavailable: {
    status: 503,
    says: "The server's journal cannot be reached. Nothing is half done. Try again.",
    retryAfter: 2,
  },
  journal_full: {
    status: 503,
    says: "The server's journal has no more space. Nothing was written. Its operator has to free space.",
  },
  journal_corrupt: { status: 503, says: "The server's journal is damaged. Its operator has to restore it." },
  journal_read_only: {
    status: 503,
    says: "The server's journal cannot be written. Its operator has to make it writable.",
  },
  journal_version: {
    status: 503,
    says: "The server's journal has a format that this version cannot read. Tell its operator.",
  },
  journal_invalid: {
    status: 503,
    says: "The journal of this execution cannot be read. Tell the server's operator.",
  },
} as const satisfies Readonly<Record<string, Refusal>>;

export type ProblemCode = keyof typeof REFUSALS;

export const PROBLEM_CODES = Object.keys(REFUSALS) as readonly ProblemCode[];

function aboutOf(code: ProblemCode): Refusal {
  return REFUSALS[code];
}

export function statusOf(code: ProblemCode): number {
  return aboutOf(code).status;
}

export interface Problem {
  readonly code: ProblemCode;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal that is thrown while a request is read or handled. */
export class RequestProblem extends Error {
  readonly problem: Problem;

  constructor(code: ProblemCode, message: string, headers: Problem["headers"] = {}) {
    super(message);
    this.problem = { code, message, headers };
  }
}

/** The body of every refusal: `{ "error": { "code", "message" } }`. */
export function problemResponse({ code, message, headers }: Problem): Response {
  const { status, retryAfter } = aboutOf(code);
  return Response.json(
    { error: { code, message } },
    { status, headers: { ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }), ...headers } },
  );
}

/** The problem that a client is sent for an error; `server_failed` for an error that is not meant for clients. */
export function problemOf(error: unknown): Problem {
  if (error instanceof RequestProblem) return error.problem;
  const isKnown = PortcullisError.is(error) && Object.hasOwn(REFUSALS, error.code);
  const code = isKnown ? (error.code as ProblemCode) : "server_failed";
  return { code, message: aboutOf(code).says ?? withoutPrefixes((error as Error).message) };
}

/** Whether the operator is told of it. */
export function isOperators({ code }: Problem): boolean {
  const { status, isExpected = false } = aboutOf(code);
  return status >= 500 && !isExpected;
}
