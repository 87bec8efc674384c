import { fieldOf, parsedJson, textOf } from "../../../base/index.ts";

/** There is no access to a server, for a reason that is not the connection's. */
export class NoAccess extends Error {
  /** The MCP package passes an error of this name on as it is. */
  override readonly name = "UnauthorizedError";
  /** What the server, or its authorization server, answered: text of others. */
  readonly reason: string | undefined;
  /** For the developer alone: it may name hosts and what happened on this machine. */
  readonly detail: string | undefined;

  constructor(why: string, { reason, detail, cause }: Partial<Pick<NoAccess, "reason" | "detail" | "cause">> = {}) {
    super(why, { cause });
    this.reason = reason;
    this.detail = detail;
  }
}

/** A person has to allow access before the server takes a request. */
export class NeedsPerson extends NoAccess {}

/** What a body or a header says of a refusal, by the fields that OAuth, JSON-RPC and others have for it; undefined if it says nothing. */
export function refusalWords(refusal: unknown): string | undefined {
  const error = fieldOf(refusal, "error");
  const words = [
    typeof error === "string" ? error : textOf(error, "message"),
    ...["error_description", "message", "detail", "scope"].map((name) => textOf(refusal, name)),
  ].filter((one) => one);
  return words.join(": ") || undefined;
}

/** `refusalWords` of what may be JSON. */
export function wordsIn(body: string): string | undefined {
  return refusalWords(parsedJson(body));
}

/** Codes of OAuth that are about more than a refresh token. */
const OF_ALL = new Set(["invalid_client", "unauthorized_client", "temporarily_unavailable", "server_error"]);

/** The code of a refusal of tokens or of a registration, as OAuth has codes; "server_error" if it has none. Servers have many for a refresh token that is over. */
export function codeIn(body: string, isRefresh: boolean): string {
  const code = textOf(parsedJson(body), "error") ?? "";
  if (!/^[a-z_]{1,64}$/.test(code)) return "server_error";
  return isRefresh && !OF_ALL.has(code) ? "invalid_grant" : code;
}
