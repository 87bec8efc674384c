import type { AuthInfo, Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { randomUUID } from "node:crypto";
import { whenOver } from "../http/when-over.ts";
import type { Principal } from "../principal.ts";
import type { McpDoor } from "./mcp-door.ts";
import { refusal } from "./refusal.ts";

/** Sessions of one principal. The one that was unused for the longest makes room for a new one. */
const MOST_SESSIONS = 1000;
/** How long an unused session is kept, in milliseconds. */
const UNUSED_MS = 30 * 60 * 1000;
const EXPIRY_MS = 60 * 1000;

const NOT_FOUND = -32001;

interface Session {
  /** With the rights that it has had at its beginning: one whose rights have changed is another principal. */
  readonly principal: Principal;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Requests whose answers are not over. */
  requests: number;
  usedAt: number;
}

interface RequestParts {
  readonly parsedBody: unknown;
  readonly authInfo: AuthInfo;
}

/** The sessions of clients that speak a protocol before 2026. */
export class McpSessions implements AsyncDisposable {
  readonly #door: McpDoor;
  readonly #sessions = new Map<string, Session>();
  readonly #expiry: NodeJS.Timeout;

  constructor(door: McpDoor) {
    this.#door = door;
    this.#expiry = setInterval(() => this.#expire(), EXPIRY_MS).unref();
  }

  async fetch(request: Request, principal: Principal, parts: RequestParts): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.#begin(request, principal, parts);
    const session = this.#sessions.get(id);
    // Another principal's session is like one that never was.
    if (session?.principal !== principal) return refusal(404, "There is no such session: begin a new one.", NOT_FOUND);
    return this.#serve(session, request, parts);
  }

  async #begin(request: Request, principal: Principal, parts: RequestParts): Promise<Response> {
    if (!this.#makeRoom(principal))
      return refusal(503, "All sessions of this key are in use: end one, or try again later.", -32000, {
        "retry-after": "10",
      });
    const { WebStandardStreamableHTTPServerTransport: HttpTransport } = this.#door.mcp;
    const server = this.#door.serverFor(principal);
    const transport = new HttpTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.#sessions.set(id, session),
      onsessionclosed: (id) => this.#end(id),
    });
    const session: Session = { principal, server, transport, requests: 0, usedAt: Date.now() };
    await server.connect(transport);
    const response = await this.#serve(session, request, parts);
    if (transport.sessionId === undefined || !this.#sessions.has(transport.sessionId)) await server.close();
    return response;
  }

  async #serve(session: Session, request: Request, parts: RequestParts): Promise<Response> {
    session.requests += 1;
    const over = () => {
      session.requests -= 1;
      session.usedAt = Date.now();
    };
    try {
      return whenOver(await session.transport.handleRequest(request, parts), over);
    } catch (error) {
      over();
      throw error;
    }
  }

  #makeRoom({ id }: Principal): boolean {
    const own = [...this.#sessions].filter(([, session]) => session.principal.id === id);
    if (own.length < MOST_SESSIONS) return true;
    const [oldest] = own.filter(([, { requests }]) => requests === 0).toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest) this.#end(oldest[0]);
    return oldest !== undefined;
  }

  #expire(): void {
    const before = Date.now() - UNUSED_MS;
    for (const [id, { requests, usedAt }] of this.#sessions) if (requests === 0 && usedAt < before) this.#end(id);
  }

  #end(id: string): void {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    session?.server.close().catch((error: unknown) => this.#door.onError(error));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#expiry);
    const servers = [...this.#sessions.values()].map(({ server }) => server);
    this.#sessions.clear();
    await Promise.all(servers.map((server) => server.close()));
  }
}
