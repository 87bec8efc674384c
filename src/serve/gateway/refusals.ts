import { randomBytes } from "node:crypto";
import type { AgentEnding } from "../../conversations/event.ts";
import type { ProviderFailureCode } from "../../models/model.ts";
import { type SurfaceRefusal, RefusedAsk, type RefusalKind, type Surface } from "./surface/surface.ts";
import { keyRevoked } from "../../conversations/index.ts";
import { type Problem, problemOf, statusOf } from "../http/problems.ts";

const KIND_OF_STATUS: Readonly<Record<number, RefusalKind>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "not_found",
  413: "too_large",
  429: "rate_limited",
  500: "failed",
  503: "overloaded",
};

/** Codes of what another request for the same conversation causes, at another server: the vendors' clients send again. */
const OTHERS: ReadonlySet<Problem["code"]> = new Set<Problem["code"]>([
  "call_unknown",
  "conversation_busy",
  "conversation_moved",
  "decision_exists",
  "execution_driven",
  "head_moved",
]);

/**
 * When a conversation is asked for again that another process drives. If that process has died, its lease ends within 15
 * seconds: the vendors' clients send a request again twice.
 */
const DRIVEN_SECONDS = "8";

/** A problem of the server in the words of a surface. */
export function refusalOfProblem({ code, message, headers }: Problem): SurfaceRefusal {
  if (OTHERS.has(code))
    return {
      kind: "overloaded",
      message: "Another request continues the same conversation. Send this one again.",
      headers: { "retry-after": code === "execution_driven" ? DRIVEN_SECONDS : "1" },
    };
  return { kind: KIND_OF_STATUS[statusOf(code)] ?? "invalid", message, headers };
}

export function refusalOf(error: unknown): SurfaceRefusal {
  return error instanceof RefusedAsk ? error.refusal : refusalOfProblem(problemOf(error));
}

/** What a client is told of a provider that failed, after "The model behind this server". */
const FAILURES: Readonly<Record<ProviderFailureCode, readonly [kind: RefusalKind, words: string]>> = {
  // The key is the operator's, and no client can mend it.
  key_refused: ["failed", "cannot be asked now: its operator can read why."],
  rate_limited: ["rate_limited", "takes no more requests for now. Try again later."],
  overloaded: ["overloaded", "is overloaded. Try again later."],
  request_refused: [
    "invalid",
    "does not take this request: a feature that it lacks, or a conversation that is too long. The server's operator can read why.",
  ],
  server_failed: ["failed", "failed. Try again later."],
  timed_out: ["timed_out", "did not answer in time."],
  unreachable: ["overloaded", "cannot be reached. Try again later."],
  interrupted: ["failed", "broke its answer off. Try again."],
  reply_invalid: ["failed", "gave an answer that could not be read."],
};

/** Why a conversation has given no answer; undefined if it has. What a provider says is for the operator alone. */
export function refusalOfEnding(ending: AgentEnding): SurfaceRefusal | undefined {
  if (ending.type === "cancelled" && ending.code === "key_revoked") return refusalOf(keyRevoked());
  if (ending.type === "cancelled") return { kind: "overloaded", message: "The request was cancelled. Send it again." };
  if (ending.type !== "provider_failed") return undefined;
  const { code } = ending.failure;
  const [kind, words] = FAILURES[Object.hasOwn(FAILURES, code) ? code : "server_failed"];
  return { kind, message: `The model behind this server ${words}` };
}

export function newRequestId(): string {
  return `req_${randomBytes(16).toString("hex")}`;
}

/** A refusal as a surface writes it. */
export function refusalResponse(surface: Surface, refusal: SurfaceRefusal): Response {
  const requestId = newRequestId();
  const { status, body } = surface.refusal(refusal, requestId);
  return Response.json(body, { status, headers: { [surface.requestIdHeader]: requestId, ...refusal.headers } });
}
