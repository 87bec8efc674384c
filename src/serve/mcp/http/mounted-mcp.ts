import type { CurrentKeys } from "../../current-keys.ts";
import type { Key } from "../../http/keys.ts";
import { RequestProblem, type Problem, problemOf } from "../../http/problems.ts";
import type { Principal } from "../../principal.ts";
import { type McpDoor, type McpDoorOptions, openMcpDoor } from "../mcp-door.ts";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { cancel, every } from "../../../base/index.ts";
import type { BytesByKey } from "../../http/bytes-by-key.ts";
import { countedStream, isStream } from "../../http/counted-answer.ts";
import { readJsonBody } from "../../http/read-json.ts";
import { whenOver } from "../../http/when-over.ts";
import { mcpSessions } from "./http-sessions.ts";
import { frameFault, idOf, MESSAGE_BYTES } from "./message-frame.ts";

export interface MountedMcpOptions extends Omit<McpDoorOptions, "runtimeOf"> {
  readonly keys: CurrentKeys;
  /** Counts what requests hold, together with the server's other paths. */
  readonly open: BytesByKey;
}

export type MountedMcp = ReturnType<typeof mountedMcp>;

/** The MCP door as a path of the server. It is opened by its first request, because few servers need its package. */
export function mountedMcp(options: MountedMcpOptions) {
  const { keys, open, onError } = options;
  let opening: Promise<ReturnType<typeof httpDoor>> | undefined;
  let isClosed = false;
  const runtimeOf = (of: Principal) => keys.runtimeOf(of as Key);
  return {
    async fetch(request: Request, key: Key): Promise<Response> {
      if (isClosed) throw new RequestProblem("server_closing", "The server is closed.");
      opening ??= openMcpDoor({ ...options, runtimeOf }).then((door) => httpDoor(door, open, keys));
      const door = await opening.catch((error: unknown) => {
        opening = undefined;
        onError?.(error);
        throw new RequestProblem("mcp_unavailable", "The server cannot speak MCP: the reason is in its log.");
      });
      return door.fetch(request, key);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      isClosed = true;
      await (await opening)?.[Symbol.asyncDispose]();
    },
  };
}

/** Bytes of the message that begins a session, because the session keeps what the client says of itself. */
const INITIALIZE_BYTES = 64 * 1024;
/** How often sessions that are unused are looked for, in milliseconds. */
const LOOK_MS = 1000;

/** Where a request has its principal. The id alone would belong to another key, if the keys change meanwhile. */
const PRINCIPAL = "principal";

/** JSON-RPC's code for errors that a server defines. */
const REFUSED_ANSWER = -32000;

const NO_BODY = { value: undefined, bytes: 0 };

/**
 * The door over HTTP, for requests that were let in. Clients of a protocol before 2026 get a session, in which the
 * server can ask them; later clients send all that a request needs with it. A key that does not hold any more loses its
 * sessions and the answers that are under way, which cancels what they wait for.
 */
function httpDoor(door: McpDoor, open: BytesByKey, keys: Pick<CurrentKeys, "signalOf">) {
  const { mcp } = door;
  const sessions = mcpSessions(door, keys);
  const handler = mcp.createMcpHandler(({ authInfo }) => door.serverFor(principalIn(authInfo)), {
    maxRequestBodySize: MESSAGE_BYTES,
    // Told is what failed, and not what was refused.
    onerror: (error) => {
      if (!error.message.startsWith(REFUSED)) door.onError(error);
    },
  });
  /** Requests whose answers are not over: a request that is garbage aborts its signal no more. */
  const answering = new Set<Request>();
  const looking = every(LOOK_MS, () => sessions.expire()).unref();
  const hold = (key: Key, bytes: number) => open.hold(key, bytes, "read its answers");
  const handle = async (request: Request, key: Key, body: Body) => {
    const authInfo = { token: "", clientId: key.id, scopes: [], extra: { [PRINCIPAL]: key } };
    const options = { parsedBody: body.value, authInfo };
    if (!(await isOfSession(mcp, request, body))) return handler.fetch(request, options);
    return sessions.fetch(request, key, { ...options, bytes: body.bytes });
  };
  return {
    /** Rejects with a `RequestProblem` for a request that the door does not take. What it holds counts until its answer has been read too. */
    async fetch(request: Request, key: Key): Promise<Response> {
      const { url, method, headers } = request;
      const body = method === "POST" ? await readMessage(request, key, hold) : NO_BODY;
      const { value, bytes } = body;
      // A body may take its time, and keys change.
      const signal = keys.signalOf(key);
      signal.throwIfAborted();
      // A value that is read is held twice while its answer is made: as itself, and as JSON.
      const valueBytes = 2 * door.answerBytes(key, value);
      using held = new DisposableStack();
      held.defer(hold(key, bytes));
      const onFirst = valueBytes === 0 ? undefined : held.adopt(hold(key, valueBytes), (release) => release());
      // Its body was read, and the key's signal ends it too.
      const asked = new Request(url, { method, headers, signal: AbortSignal.any([request.signal, signal]) });
      answering.add(asked);
      held.defer(() => answering.delete(asked));
      const response = await handle(asked, key, body);
      const refusal = (problem: Problem) => refusalOf(value, problem);
      const counted = isStream(response)
        ? countedStream(response, { open, key, onFirst, refusal: ({ problem }) => refusal(problem) })
        : response;
      const rest = held.move();
      return whenOver(counted, () => rest.dispose(), { signal, last: () => refusal(problemOf(signal.reason)) });
    },
    async [Symbol.asyncDispose](): Promise<void> {
      cancel(looking);
      await Promise.all([handler.close(), sessions[Symbol.asyncDispose]()]);
    },
  };
}

interface Body {
  readonly value: unknown;
  readonly bytes: number;
}

async function readMessage(request: Request, key: Key, hold: (key: Key, bytes: number) => () => void): Promise<Body> {
  const { tenant } = key;
  const reader = { tenant, signal: request.signal, hold: (bytes: number) => hold(key, bytes) };
  const body = await readJsonBody(request, { most: MESSAGE_BYTES, reader, what: "message" });
  // A key's rate counts requests, so a batch would get past it.
  if (Array.isArray(body.value)) throw new RequestProblem("request_invalid", "Send one message with each request.");
  const fault = frameFault(body.value);
  if (fault !== undefined) throw new RequestProblem("body_too_large", fault);
  return body;
}

/** Whether a message is of a session, or begins one. Rejects with a `RequestProblem` for one that is too large to begin one. */
async function isOfSession(mcp: McpDoor["mcp"], request: Request, { value, bytes }: Body): Promise<boolean> {
  const isFirst = mcp.isInitializeRequest(value);
  if (!(await mcp.isLegacyRequest(request, value)) || !(isFirst || request.headers.has("mcp-session-id"))) return false;
  if (isFirst && bytes > INITIALIZE_BYTES)
    throw new RequestProblem(
      "body_too_large",
      `The message that begins a session may have at most ${INITIALIZE_BYTES} bytes.`,
    );
  return true;
}

/** The error in place of an answer, as the last event of a stream; nothing if no answer is expected. */
function refusalOf(message: unknown, problem: Problem): string {
  const id = idOf(message);
  if (id === undefined) return "";
  const error = { code: REFUSED_ANSWER, message: problem.message, data: { code: problem.code } };
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`;
}

function principalIn(authInfo: AuthInfo | undefined): Principal {
  const principal = authInfo?.extra?.[PRINCIPAL];
  if (principal === undefined) throw new Error("The request has no principal.");
  return principal as Principal;
}

/** How the package begins to tell of requests that it has refused: a client may send thousands of them. */
const REFUSED = "Rejected inbound request";
