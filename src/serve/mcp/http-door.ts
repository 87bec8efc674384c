import type { McpHttpHandler } from "@modelcontextprotocol/server";
import type { Principal } from "../principal.ts";
import { McpSessions } from "./http-sessions.ts";
import type { McpDoor } from "./mcp-door.ts";
import { refusal } from "./refusal.ts";
import { MESSAGE_BYTES } from "./stdio-transport.ts";

/**
 * The door over HTTP, for requests that were let in. Clients of a protocol before 2026 get a session, in which the server
 * can ask them; later ones send all that a request needs with it.
 */
export class HttpDoor implements AsyncDisposable {
  readonly #door: McpDoor;
  readonly #sessions: McpSessions;
  readonly #handler: McpHttpHandler;
  readonly #principals = new Map<string, Principal>();

  constructor(door: McpDoor) {
    this.#door = door;
    this.#sessions = new McpSessions(door);
    this.#handler = door.mcp.createMcpHandler(
      ({ authInfo }) => {
        const principal = this.#principals.get(authInfo?.clientId ?? "");
        if (!principal) throw new Error("The request has no principal.");
        return door.serverFor(principal);
      },
      { maxRequestBodySize: MESSAGE_BYTES, onerror: () => {} },
    );
  }

  async fetch(request: Request, principal: Principal): Promise<Response> {
    const { mcp } = this.#door;
    const isPost = request.method === "POST";
    if (isPost && !mcp.isJsonContentType(request.headers.get("content-type")))
      return refusal(415, "A message is sent as application/json.");
    const body = isPost ? await this.#read(request) : { message: undefined };
    if (body instanceof Response) return body;
    const { message } = body;
    this.#principals.set(principal.id, principal);
    const options = { parsedBody: message, authInfo: { token: "", clientId: principal.id, scopes: [] } };
    const isLegacy = await mcp.isLegacyRequest(request, message);
    if (isLegacy && (request.headers.has("mcp-session-id") || mcp.isInitializeRequest(message)))
      return this.#sessions.fetch(request, principal, options);
    return this.#handler.fetch(request, options);
  }

  async #read(request: Request): Promise<Response | { readonly message: unknown }> {
    const read = await this.#door.mcp.readRequestBody(request, MESSAGE_BYTES).catch(() => undefined);
    if (!read) return refusal(400, "The body could not be read.");
    if (read.tooLarge) return refusal(413, `A message may have at most ${MESSAGE_BYTES} bytes.`);
    try {
      return { message: JSON.parse(read.text) as unknown };
    } catch {
      return refusal(400, "The body is not JSON.", -32700);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#handler.close(), this.#sessions[Symbol.asyncDispose]()]);
  }
}
