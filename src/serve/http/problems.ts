import { PortcullisError } from "../../base/index.ts";
import { withoutPrefixes } from "../tenant-ids.ts";

/**
 * By status and code, what a client reads in place of an error's message, which may name files, options of the host, or tools that
 * the client may not call. Empty if the message is for clients.
 */
const REFUSALS = {
  400: { request_invalid: "", option_invalid: "" },
  401: {
    key_unknown: "",
    key_expired: "",
    key_revoked: "This key was changed or revoked, or has expired. What it had under way was ended.",
  },
  403: { origin_refused: "", scope_missing: "" },
  404: {
    path_unknown: "",
    artifact_unknown: "",
    session_unknown: "",
    execution_unknown:
      "There is no execution or conversation of this id. GET /v1/executions lists those that there are.",
    call_unknown:
      "There is no such call, or it does not wait for what was given. To see what waits: GET /v1/executions/ID",
  },
  405: { method_unknown: "" },
  409: {
    decision_exists: "",
    execution_open:
      "The execution that `corrects` names has not ended. Wait for its end, or cancel it: POST /v1/executions/ID/cancel",
    execution_exists: "There is another execution or conversation of this id already. Choose another id.",
    approval_expired:
      "The call has waited for longer than its execution allows. Nothing was noted, and the execution continues without it.",
    execution_driven:
      "Another request, another server or code of the host continues this execution. Wait for it, then try again.",
    tools_changed:
      "This key does not have the tools that the execution began with, as they were then. Go on with a key that has them, or begin another one.",
    journal_redacted:
      "The server takes parts out of what its journal holds. What a program would be run or given without them was not noted: send it without such parts, or answer with an error. A conversation that has lost such parts cannot continue: begin another one.",
    model_unavailable: "The server cannot use the model of this conversation. Tell its operator, or begin another one.",
    head_moved: "Another request or another server has gone on with this execution meanwhile. Read it, then try again.",
    conversation_busy: "The conversation is at work. Wait for it, or interrupt it: POST /v1/conversations/ID/interrupt",
    conversation_ended: "The conversation has ended. Begin another one: POST /v1/conversations",
    conversation_moved:
      "The conversation has another number of the user's messages than `expect`. Nothing was said. Read it, then say what is still to be said.",
  },
  413: { body_too_large: "", answer_too_large: "" },
  415: { body_not_json: "", body_coded: "" },
  421: { host_unknown: "" },
  429: { rate_exceeded: "", too_many_at_once: "" },
  500: {
    server_failed: "The server failed to handle the request. The reason is in its log. No data is known to be lost.",
  },
  503: {
    server_closing: "",
    mcp_unavailable: "",
    busy: "The server already runs, queues or holds as many executions as it may. Nothing was started. Try again later, or end some that wait.",
    queue_full: "Too many programs wait for an engine. Nothing was started. Try again later.",
    sandbox_unavailable: "The server cannot run this program: its sandbox is missing, or does not run the language.",
    runtime_closed: "The server is closing. Nothing was started. Try again later.",
    runtime_suspended:
      "The server is closing. The execution stays open in the journal and continues at the server's next start: request it then.",
    journal_gone: "The server's journal is gone. Nothing was written. Its operator has to restore it.",
    journal_locked: "The server's journal is locked by another process. Nothing was written. Try again.",
    journal_unavailable: "The server's journal cannot be reached. Nothing is half done. Try again.",
    journal_full: "The server's journal has no more space. Nothing was written. Its operator has to free space.",
    journal_corrupt: "The server's journal is damaged. Its operator has to restore it.",
    journal_read_only: "The server's journal cannot be written. Its operator has to make it writable.",
    journal_version: "The server's journal has a format that this version cannot read. Tell its operator.",
    journal_invalid: "The journal of this execution cannot be read. Tell the server's operator.",
  },
} as const satisfies Readonly<Record<number, Readonly<Record<string, string>>>>;

/** Seconds after which a client may try again. */
const RETRY_AFTER: Readonly<Partial<Record<ProblemCode, number>>> = {
  too_many_at_once: 1,
  server_closing: 5,
  busy: 2,
  queue_full: 2,
  runtime_closed: 5,
  runtime_suspended: 5,
  journal_locked: 2,
  journal_unavailable: 2,
};

/** Of these the operator has nothing to do, though the server fails. */
const EXPECTED: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "server_closing",
  "mcp_unavailable",
  "busy",
  "queue_full",
  "runtime_closed",
  "runtime_suspended",
]);

type CodesOf<ByStatus> = ByStatus extends unknown ? keyof ByStatus : never;
export type ProblemCode = CodesOf<(typeof REFUSALS)[keyof typeof REFUSALS]>;

const KNOWN: ReadonlyMap<string, { readonly status: number; readonly says: string }> = new Map(
  Object.entries(REFUSALS).flatMap(([status, codes]) =>
    Object.entries(codes).map(([code, says]) => [code, { status: Number(status), says }]),
  ),
);

export const PROBLEM_CODES = [...KNOWN.keys()] as readonly ProblemCode[];

export function statusOf(code: ProblemCode): number {
  return KNOWN.get(code)?.status ?? 500;
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
  const retryAfter = RETRY_AFTER[code];
  return Response.json(
    { error: { code, message } },
    {
      status: statusOf(code),
      headers: { ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }), ...headers },
    },
  );
}

/** The problem that a client is sent for an error; `server_failed` for an error that is not meant for clients. */
export function problemOf(error: unknown): Problem {
  if (error instanceof RequestProblem) return error.problem;
  const isKnown = PortcullisError.is(error) && KNOWN.has(error.code);
  const code = isKnown ? (error.code as ProblemCode) : "server_failed";
  return { code, message: KNOWN.get(code)?.says || withoutPrefixes((error as Error).message) };
}

/** Whether the operator is told of it. */
export function isOperators({ code }: Problem): boolean {
  return statusOf(code) >= 500 && !EXPECTED.has(code);
}
