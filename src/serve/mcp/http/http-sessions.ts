import type { AuthInfo, Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { randomUUID } from "node:crypto";
import { addAbortListener } from "node:events";
import { now } from "../../../base/index.ts";
import { type BytesByKey, bytesByKey } from "../../http/bytes-by-key.ts";
import { RequestProblem } from "../../http/problems.ts";
import { whenOver } from "../../http/when-over.ts";
import type { Key } from "../../http/keys.ts";
import type { CurrentKeys } from "../../current-keys.ts";
import type { McpDoor } from "../mcp-door.ts";

const MIB = 1024 * 1024;
/** What sessions hold. The session of a key that was unused for the longest makes room for a new session. */
const HELD = { own: 8 * MIB, all: 64 * MIB, each: 16 * 1024 };
/** Memory for each byte of the message that begins a session, whose values the session keeps. */
const MEMORY_BYTES = 4;
/** How long an unused session is kept, in milliseconds. */
const UNUSED_MS = 30 * 60 * 1000;

interface Session {
  readonly key: Key;
  /** Aborted once the key holds no more. If only its rate changes, it is the same. */
  readonly held: AbortSignal;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Gives back what it holds. */
  readonly ending: DisposableStack;
  /** Requests whose answers are not over. */
  requests: number;
  usedAt: number;
}

interface RequestParts {
  readonly parsedBody: unknown;
  readonly authInfo: AuthInfo;
  /** Bytes of the body. */
  readonly bytes: number;
}

interface Sessions {
  readonly door: McpDoor;
  readonly keys: Pick<CurrentKeys, "signalOf">;
  readonly all: Map<string, Session>;
  readonly held: BytesByKey;
}

/** The sessions of clients that speak a protocol before 2026, in which the server asks the client and is told of cancelled requests. */
export function mcpSessions(door: McpDoor, keys: Pick<CurrentKeys, "signalOf">) {
  const sessions: Sessions = { door, keys, all: new Map(), held: bytesByKey(HELD) };
  const { all } = sessions;
  return {
    async fetch(request: Request, key: Key, parts: RequestParts): Promise<Response> {
      const id = request.headers.get("mcp-session-id");
      if (id === null) return begin(sessions, request, key, parts);
      const session = all.get(id);
      // Another key's session is like a session that never was.
      if (session?.held !== keys.signalOf(key))
        throw new RequestProblem("session_unknown", "There is no such session: begin a new one.");
      return serve(session, request, parts);
    },
    /** Ends sessions that have not been used for long. */
    expire(): void {
      const before = now() - UNUSED_MS;
      for (const [id, { requests, usedAt }] of all) if (requests === 0 && usedAt < before) end(sessions, id);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      const servers = [...all.values()].map(({ server }) => server);
      all.clear();
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

function end({ door, all }: Sessions, id: string): void {
  const session = all.get(id);
  all.delete(id);
  session?.ending.dispose();
  session?.server.close().catch((error: unknown) => door.onError(error));
}

/** Takes the bytes of a session. If there is no room, ends unused sessions of the key. */
function makeRoom(sessions: Sessions, key: Key, bytes: number): () => void {
  for (;;) {
    const release = sessions.held.begin(key, MEMORY_BYTES * bytes);
    if (release) return release;
    const unused = [...sessions.all].filter(([, one]) => one.key.id === key.id && one.requests === 0);
    const [oldest] = unused.toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    if (!oldest)
      throw new RequestProblem(
        "too_many_at_once",
        "The sessions of this key that are in use hold too much: end one with DELETE and its Mcp-Session-Id, or use protocol 2026-07-28, which needs none.",
      );
    end(sessions, oldest[0]);
  }
}

async function serve(session: Session, request: Request, parts: RequestParts): Promise<Response> {
  session.requests += 1;
  const over = () => {
    session.requests -= 1;
    session.usedAt = now();
  };
  const answer = session.transport.handleRequest(request, parts);
  answer.catch(over);
  return whenOver(await answer, over);
}

async function begin(sessions: Sessions, request: Request, key: Key, parts: RequestParts): Promise<Response> {
  const { door, keys, all } = sessions;
  const ending = new DisposableStack();
  ending.defer(makeRoom(sessions, key, parts.bytes));
  const server = door.serverFor(key);
  const signal = keys.signalOf(key);
  const transport = new door.mcp.WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => {
      all.set(id, session);
      ending.use(addAbortListener(signal, () => end(sessions, id)));
    },
    onsessionclosed: (id) => end(sessions, id),
  });
  const session: Session = { key, held: signal, server, transport, ending, requests: 0, usedAt: now() };
  try {
    await server.connect(transport);
    return await serve(session, request, parts);
  } finally {
    if (transport.sessionId === undefined || !all.has(transport.sessionId)) {
      ending.dispose();
      await server.close();
    }
  }
}
