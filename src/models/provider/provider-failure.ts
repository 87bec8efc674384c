import { fieldOf, parsedJson, textOf } from "../../base/index.ts";
import type { ModelUsage, ProviderFailure, ProviderFailureCode, TurnEnd, TurnReply } from "../model.ts";

const DETAIL_LENGTH = 300;
/** Maximum length of a provider's reason for ending a turn, which a model may have written, in UTF-16 code units. */
const REASON_LENGTH = 2000;

/** How much of an error's message is parsed, in UTF-16 code units: it may contain a whole reply. */
const MESSAGE_LENGTH = 64 * 1024;

/** The provider that failed, and the key that its message must not show. */
export interface FailedProvider {
  readonly provider: string;
  readonly keyVariable: string;
  readonly key: string | undefined;
  readonly requests: {
    readonly attempts: number;
    readonly origin?: string | undefined;
    readonly requestId?: string | undefined;
  };
}

/** The reply for an error that a request threw. Nothing of the error is trusted. */
export function failedReply(error: unknown, signal: AbortSignal, about: FailedProvider, usage?: ModelUsage): TurnReply {
  if (signal.aborted) return { type: "aborted" };
  const status = (error as { readonly status?: unknown } | null | undefined)?.status;
  const httpStatus = typeof status === "number" ? status : undefined;
  const code = codeOf(error, httpStatus);
  return { type: "failed", failure: failure(code, about, detailOf(error), httpStatus), usage };
}

export function failure(
  code: ProviderFailureCode,
  { provider, keyVariable, key, requests }: FailedProvider,
  detail: string,
  status?: number,
): ProviderFailure {
  const shown = shownWords(detail, key, DETAIL_LENGTH);
  const { attempts, origin, requestId: request } = requests;
  const message = [
    SENTENCES[code]
      .replace("PROVIDER", provider)
      .replace("KEY", keyVariable)
      .replace(" PLACE", () => (origin === undefined ? "" : ` at ${origin}`)),
    attempts > 1 ? `It was asked ${attempts} times.` : [],
    shown === "" ? [] : `It says: ${shown}`,
  ]
    .flat()
    .join(" ");
  return { code, message, status, request };
}

/** How a turn ended, with the provider's words cut and without its key. */
export function shownEnd(end: TurnEnd, { key }: FailedProvider): TurnEnd {
  return "reason" in end ? { ...end, reason: shownWords(end.reason, key, REASON_LENGTH) } : end;
}

/** `PROVIDER` stands for it, `KEY` for the variable with its key, and `PLACE` for where it is, if that is known. */
const SENTENCES: Readonly<Record<ProviderFailureCode, string>> = {
  key_refused: "PROVIDER does not take the key: check KEY, and what it may do.",
  rate_limited: "PROVIDER takes no more requests for now: wait, or ask for a higher limit.",
  overloaded: "PROVIDER is overloaded: try again later.",
  request_refused:
    "PROVIDER does not take the request: the model's name, a feature it lacks, or the length of the conversation.",
  server_failed: "PROVIDER failed: try again later.",
  timed_out: "PROVIDER did not answer in time.",
  unreachable: "PROVIDER cannot be reached PLACE.",
  interrupted: "The reply of PROVIDER broke off, and nothing of it was done.",
  reply_invalid: "The reply of PROVIDER is not what its protocol says, and nothing of it was done.",
};

function codeOf(error: unknown, status: number | undefined): ProviderFailureCode {
  const errors = chainOf(error).filter((one) => one instanceof Error);
  const isNamed = (pattern: RegExp) => errors.some((one) => pattern.test(`${one.constructor.name} ${one.name}`));
  if (isNamed(/ReplyTooLarge|NoReply|SyntaxError|RangeError/)) return "reply_invalid";
  const kind = kindOf(error);
  if (status === 529 || /overloaded|unavailable/i.test(kind)) return "overloaded";
  if (status === 401 || status === 403 || /authentication|permission|invalid_api_key/.test(kind)) return "key_refused";
  // Google reports an invalid key with status 400.
  if (status === 400 && /api.key/i.test((error as Error).message)) return "key_refused";
  if (status === 429 || /rate_limit|resource_exhausted/i.test(kind)) return "rate_limited";
  if (status === 408 || status === 504 || isNamed(/Timeout/) || /deadline/i.test(kind)) return "timed_out";
  if (status === 503) return "overloaded";
  if (status !== undefined && status >= 500) return "server_failed";
  if ((status !== undefined && status >= 400) || /invalid_request/.test(kind)) return "request_refused";
  if (kind !== "" || isNamed(/ErrorReply/)) return "server_failed";
  const isUnreachable =
    isNamed(/APIConnectionError/) || errors.some(({ message }) => /fetch failed|Connection error/.test(message));
  return isUnreachable ? "unreachable" : "interrupted";
}

/** The provider's name for the kind of error. Some providers put it in `code`, and a general word in `type`. */
function kindOf(error: unknown): string {
  const inner = bodyOf(error);
  return [textOf(inner, "type"), textOf(inner, "code")].filter((word) => word !== undefined).join(" ");
}

/** What the provider says of the error, as its SDK parsed it. */
function bodyOf(error: unknown): unknown {
  const body = (error as { readonly error?: unknown } | null | undefined)?.error;
  return fieldOf(body, "error") ?? body;
}

function detailOf(error: unknown): string {
  const words = textOf(bodyOf(error), "message");
  if (words !== undefined) return words;
  const message = error instanceof Error ? error.message.slice(0, MESSAGE_LENGTH) : "";
  // Google's SDK puts the text of the body into the message.
  return textOf(fieldOf(parsedJson(message.slice(message.indexOf("{"))), "error"), "message") ?? message;
}

function chainOf(error: unknown, length = 5): readonly unknown[] {
  if (error === undefined || error === null || length === 0) return [];
  return [error, ...chainOf((error as { readonly cause?: unknown }).cause, length - 1)];
}

/**
 * A text in one line. The key is taken out first, of which some providers repeat all or parts: it would not be found once it
 * is cut or loses a line break.
 */
function shownWords(text: string, key: string | undefined, length: number): string {
  const whole = key === undefined || key.length < 8 ? text : text.replaceAll(key, "[key]");
  const line = whole
    .replaceAll(/\b(?:sk|AIza)[\w*.-]{8,}/g, "[key]")
    .slice(0, length * 2)
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, " ")
    .trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
