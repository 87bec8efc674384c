import { type ErrorCode, PortcullisError } from "../../errors.ts";
import { withoutPrefixes } from "../tenant-ids.ts";

/** Codes of refusals by the door itself, with their status. Other codes are those of `PortcullisError`. */
const DOOR_STATUS = {
  request_invalid: 400,
  key_unknown: 401,
  key_expired: 401,
  origin_refused: 403,
  scope_missing: 403,
  path_unknown: 404,
  artifact_unknown: 404,
  session_unknown: 404,
  method_unknown: 405,
  body_too_large: 413,
  answer_too_large: 413,
  body_not_json: 415,
  body_coded: 415,
  host_unknown: 421,
  rate_exceeded: 429,
  too_many_at_once: 429,
  server_failed: 500,
  server_closing: 503,
  mcp_unavailable: 503,
} as const;

/** Codes of errors of the runtime that a client is told, with their status. */
const RUNTIME_STATUS = {
  option_invalid: 400,
  key_revoked: 401,
  execution_unknown: 404,
  call_unknown: 404,
  execution_open: 409,
  execution_exists: 409,
  decision_exists: 409,
  approval_expired: 409,
  execution_driven: 409,
  tools_changed: 409,
  journal_redacted: 409,
  model_unavailable: 409,
  head_moved: 409,
  conversation_busy: 409,
  conversation_ended: 409,
  conversation_moved: 409,
  busy: 503,
  queue_full: 503,
  sandbox_unavailable: 503,
  runtime_closed: 503,
  runtime_suspended: 503,
  journal_gone: 503,
  journal_locked: 503,
  journal_unavailable: 503,
  journal_full: 503,
  journal_corrupt: 503,
  journal_read_only: 503,
  journal_version: 503,
  journal_invalid: 503,
} as const satisfies Partial<Record<ErrorCode, number>>;

export const STATUS_OF = { ...RUNTIME_STATUS, ...DOOR_STATUS } as const;

export type ProblemCode = keyof typeof STATUS_OF;

/** Messages in place of the runtime's own, which may name files, options of the host, or tools that the client may not call. */
const SENTENCES: Partial<Record<ProblemCode, string>> = {
  execution_unknown: "There is no execution or conversation of this id. GET /v1/executions lists those that there are.",
  tools_changed:
    "This key does not have the tools that the execution began with, as they were then. Go on with a key that has them, or begin another one.",
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
  server_failed: "The server failed to handle the request. Its operator was told why. No data is known to be lost.",
};

/** Seconds after which a client may try again. */
const RETRY_AFTER: Partial<Record<ProblemCode, number>> = {
  busy: 2,
  queue_full: 2,
  journal_locked: 2,
  journal_unavailable: 2,
  runtime_closed: 5,
  runtime_suspended: 5,
  server_closing: 5,
  too_many_at_once: 1,
};

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
      status: STATUS_OF[code],
      headers: { ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }), ...headers },
    },
  );
}

/** The problem that a client is sent for an error; `server_failed` for an error that is not meant for clients. */
export function problemOf(error: unknown): Problem {
  if (error instanceof RequestProblem) return error.problem;
  const known = PortcullisError.is(error) && Object.hasOwn(RUNTIME_STATUS, error.code);
  const code: ProblemCode = known ? (error.code as keyof typeof RUNTIME_STATUS) : "server_failed";
  return { code, message: SENTENCES[code] ?? forClients(withoutPrefixes((error as Error).message)) };
}

/** Clients have no command line. */
function forClients(message: string): string {
  return message.replace(
    /: runtime\.status\("([^"]{1,1000})"\)$/,
    (_, id: string) => `: GET /v1/executions/${encodeURIComponent(id)}`,
  );
}

/** Codes of refusals for which the operator has nothing to do. */
const EXPECTED: ReadonlySet<string> = new Set<ProblemCode>([
  "busy",
  "queue_full",
  "mcp_unavailable",
  "server_closing",
  "runtime_closed",
  "runtime_suspended",
]);

/** Whether the operator is told of it. */
export function isOperators({ code }: Problem): boolean {
  return STATUS_OF[code] >= 500 && !EXPECTED.has(code);
}
