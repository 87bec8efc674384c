import type { AuthInfo, McpHttpHandler } from "@modelcontextprotocol/server";
import { OpenRequests } from "../http/open-requests.ts";
import { declaredBytes } from "../http/read-json.ts";
import { whenOver } from "../http/when-over.ts";
import type { Principal } from "../principal.ts";
import { McpSessions } from "./http-sessions.ts";
import type { McpDoor } from "./mcp-door.ts";
import { MESSAGE_BYTES } from "./message-bytes.ts";
import { refusal } from "./refusal.ts";

const INVALID_REQUEST = -32600;
const PARSE_ERROR = -32700;
/** Bytes of the message that begins a session, because the session keeps what the client says of itself. */
const INITIALIZE_BYTES = 64 * 1024;

/** Where a request has its principal. Its id alone would be that of another key, if the keys change meanwhile. */
const PRINCIPAL = "principal";

interface Body {
  readonly message: unknown;
  readonly bytes: number;
}

/**
 * The door over HTTP, for requests that were let in. Clients of a protocol before 2026 get a session, in which the server
 * can ask them; later ones send all that a request needs with it.
 */
export class HttpDoor implements AsyncDisposable {
  readonly #door: McpDoor;
  readonly #sessions: McpSessions;
  readonly #handler: McpHttpHandler;
  readonly #open = new OpenRequests();
  readonly #isCurrent: (principal: Principal) => boolean;

  /** `isCurrent` tells whether a principal that was let in still may come in: its body may take its time. */
  constructor(door: McpDoor, isCurrent: (principal: Principal) => boolean) {
    this.#door = door;
    this.#isCurrent = isCurrent;
    this.#sessions = new McpSessions(door);
    this.#handler = door.mcp.createMcpHandler(({ authInfo }) => door.serverFor(principalIn(authInfo)), {
      maxRequestBodySize: MESSAGE_BYTES,
      onerror: (error) => tellOwn(door, error),
    });
  }

  async fetch(request: Request, principal: Principal): Promise<Response> {
    const isPost = request.method === "POST";
    if (isPost && !this.#door.mcp.isJsonContentType(request.headers.get("content-type")))
      return refusal(415, "A message is sent as application/json.");
    if (!isPost) return this.#counted(request, principal, { message: undefined, bytes: 0 });
    const over = this.#open.begin(principal.id, declaredBytes(request, MESSAGE_BYTES));
    if (!over) return tooMany();
    const body = await this.#read(request);
    over();
    if (!this.#isCurrent(principal))
      return refusal(401, "This key was changed or revoked during the request. Nothing was begun.");
    return body instanceof Response ? body : this.#counted(request, principal, body);
  }

  /** Answers a request whose body was read. What it holds counts until its answer has been read too. */
  async #counted(request: Request, principal: Principal, { message, bytes }: Body): Promise<Response> {
    // A value that is read is held twice: as itself, and as JSON in the answer.
    const over = this.#open.begin(principal.id, bytes + 2 * this.#door.answerBytes(principal, message));
    if (!over) return tooMany();
    try {
      return whenOver(await this.#answer(request, principal, { message, bytes }), over);
    } catch (error) {
      over();
      throw error;
    }
  }

  async #answer(request: Request, principal: Principal, { message, bytes }: Body): Promise<Response> {
    const { mcp } = this.#door;
    // A key's rate counts requests, so a batch would get past it.
    if (Array.isArray(message)) return refusal(400, "Send one message with each request.", INVALID_REQUEST);
    const authInfo = { token: "", clientId: principal.id, scopes: [], extra: { [PRINCIPAL]: principal } };
    const options = { parsedBody: message, authInfo };
    const isFirst = mcp.isInitializeRequest(message);
    if (!(await mcp.isLegacyRequest(request, message)) || !(isFirst || request.headers.has("mcp-session-id")))
      return this.#handler.fetch(request, options);
    if (isFirst && bytes > INITIALIZE_BYTES)
      return refusal(413, `The message that begins a session may have at most ${INITIALIZE_BYTES} bytes.`);
    return this.#sessions.fetch(request, principal, options);
  }

  async #read(request: Request): Promise<Response | Body> {
    const read = await this.#door.mcp.readRequestBody(request, MESSAGE_BYTES).catch(() => undefined);
    if (!read) return refusal(400, "The body could not be read: send the request again.");
    if (read.tooLarge) return refusal(413, `A message may have at most ${MESSAGE_BYTES} bytes.`);
    try {
      return { message: JSON.parse(read.text) as unknown, bytes: Buffer.byteLength(read.text) };
    } catch {
      return refusal(400, "The body is not JSON.", PARSE_ERROR);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#handler.close(), this.#sessions[Symbol.asyncDispose]()]);
  }
}

function principalIn(authInfo: AuthInfo | undefined): Principal {
  const principal = authInfo?.extra?.[PRINCIPAL];
  if (principal === undefined) throw new Error("The request has no principal.");
  return principal as Principal;
}

/** How the package begins to tell of requests that it has refused: a client may send thousands of them. */
const REFUSED = "Rejected inbound request";

/** Tells the operator of what failed, and not of what was refused. */
function tellOwn(door: McpDoor, error: Error): void {
  if (!error.message.startsWith(REFUSED)) door.onError(error);
}

function tooMany(): Response {
  return refusal(429, "The open requests of this key hold too many bytes: read its answers, then try again.", -32000, {
    "retry-after": "1",
  });
}
