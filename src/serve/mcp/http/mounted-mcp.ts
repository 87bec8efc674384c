import type { CurrentKeys } from "../../current-keys.ts";
import type { Key } from "../../http/keys.ts";
import { RequestProblem, type Problem, problemOf } from "../../http/problems.ts";
import type { Principal } from "../../principal.ts";
import { McpDoor, type McpDoorOptions } from "../mcp-door.ts";
import type { AuthInfo, McpHttpHandler } from "@modelcontextprotocol/server";
import { cancel, every, type Timer } from "../../../base/index.ts";
import type { BytesByKey } from "../../http/bytes-by-key.ts";
import { countedStream, isStream } from "../../http/counted-answer.ts";
import { readJson } from "../../http/read-json.ts";
import { whenOver } from "../../http/when-over.ts";
import { McpSessions } from "./http-sessions.ts";
import { frameFault, idOf, MESSAGE_BYTES } from "./message-frame.ts";

export interface MountedMcpOptions extends Omit<McpDoorOptions, "runtimeOf">, Omit<HttpDoorParts, "door" | "keys"> {
  readonly keys: CurrentKeys;
}

/** The MCP door as a path of the server. It is opened by its first request, because few servers need its package. */
export class MountedMcp implements AsyncDisposable {
  readonly #options: MountedMcpOptions;
  #opening: Promise<HttpDoor> | undefined;
  #isClosed = false;

  constructor(options: MountedMcpOptions) {
    this.#options = options;
  }

  async fetch(request: Request, key: Key): Promise<Response> {
    const { keys, open, onError } = this.#options;
    if (this.#isClosed) throw new RequestProblem("server_closing", "The server is closed.");
    const runtimeOf = (of: Principal) => keys.runtimeOf(of as Key);
    this.#opening ??= McpDoor.open({ ...this.#options, runtimeOf }).then((door) => new HttpDoor({ door, open, keys }));
    const door = await this.#opening.catch((error: unknown) => {
      this.#opening = undefined;
      onError?.(error);
      throw new RequestProblem("mcp_unavailable", "The server cannot speak MCP: the reason is in its log.");
    });
    return door.fetch(request, key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await (await this.#opening)?.[Symbol.asyncDispose]();
  }
}

/** Bytes of the message that begins a session, because the session keeps what the client says of itself. */
const INITIALIZE_BYTES = 64 * 1024;
/** How often sessions that are unused are looked for, in milliseconds. */
const LOOK_MS = 1000;

/** Where a request has its principal. The id alone would belong to another key, if the keys change meanwhile. */
const PRINCIPAL = "principal";

/** JSON-RPC's code for errors that a server defines. */
const REFUSED_ANSWER = -32000;

interface Body {
  readonly message: unknown;
  readonly bytes: number;
}

const NO_BODY = { value: undefined, bytes: 0 };

interface HttpDoorParts {
  readonly door: McpDoor;
  /** Counts what requests hold, together with the server's other paths. */
  readonly open: BytesByKey;
  readonly keys: Pick<CurrentKeys, "signalOf">;
}

/**
 * The door over HTTP, for requests that were let in. Clients of a protocol before 2026 get a session, in which the
 * server can ask them; later clients send all that a request needs with it. A key that does not hold any more loses its
 * sessions and the answers that are under way, which cancels what they wait for.
 */
class HttpDoor implements AsyncDisposable {
  readonly #parts: HttpDoorParts;
  readonly #sessions: McpSessions;
  readonly #handler: McpHttpHandler;
  /** Requests whose answers are not over: a request that is garbage aborts its signal no more. */
  readonly #answering = new Set<Request>();
  readonly #looking: Timer;

  constructor(parts: HttpDoorParts) {
    const { door, keys } = parts;
    this.#parts = parts;
    this.#sessions = new McpSessions(door, keys);
    this.#handler = door.mcp.createMcpHandler(({ authInfo }) => door.serverFor(principalIn(authInfo)), {
      maxRequestBodySize: MESSAGE_BYTES,
      // Told is what failed, and not what was refused.
      onerror: (error) => {
        if (!error.message.startsWith(REFUSED)) door.onError(error);
      },
    });
    this.#looking = every(LOOK_MS, () => this.#sessions.expire()).unref();
  }

  /** Rejects with a `RequestProblem` for a request that the door does not take. */
  async fetch(request: Request, key: Key): Promise<Response> {
    const { tenant } = key;
    const reader = { tenant, signal: request.signal, hold: (held: number) => this.#hold(key, held) };
    const isPost = request.method === "POST";
    const { value, bytes } = isPost
      ? await readJson(request, { most: MESSAGE_BYTES, reader, what: "message" })
      : NO_BODY;
    // A key's rate counts requests, so a batch would get past it.
    if (Array.isArray(value)) throw new RequestProblem("request_invalid", "Send one message with each request.");
    const fault = frameFault(value);
    if (fault !== undefined) throw new RequestProblem("body_too_large", fault);
    // A body may take its time, and keys change.
    this.#parts.keys.signalOf(key).throwIfAborted();
    return this.#answer(request, key, { message: value, bytes });
  }

  /** Answers a request whose body was read. What it holds counts until its answer has been read too. */
  async #answer(request: Request, key: Key, body: Body): Promise<Response> {
    const { door, open } = this.#parts;
    // A value that is read is held twice while its answer is made: as itself, and as JSON.
    const valueBytes = 2 * door.answerBytes(key, body.message);
    using held = new DisposableStack();
    held.defer(this.#hold(key, body.bytes));
    const onFirst = valueBytes === 0 ? undefined : held.adopt(this.#hold(key, valueBytes), (release) => release());
    const signal = this.#parts.keys.signalOf(key);
    // Its body was read, and the key's signal ends it too.
    const { url, method, headers } = request;
    const answering = new Request(url, { method, headers, signal: AbortSignal.any([request.signal, signal]) });
    this.#answering.add(answering);
    held.defer(() => this.#answering.delete(answering));
    const response = await this.#handle(answering, key, body);
    const refusal = (problem: Problem) => refusalOf(body.message, problem);
    const counted = isStream(response)
      ? countedStream(response, { open, key, onFirst, refusal: ({ problem }) => refusal(problem) })
      : response;
    const rest = held.move();
    return whenOver(counted, () => rest.dispose(), { signal, last: () => refusal(problemOf(signal.reason)) });
  }

  async #handle(request: Request, key: Key, { message, bytes }: Body): Promise<Response> {
    const { mcp } = this.#parts.door;
    const authInfo = { token: "", clientId: key.id, scopes: [], extra: { [PRINCIPAL]: key } };
    const options = { parsedBody: message, authInfo };
    const isFirst = mcp.isInitializeRequest(message);
    if (!(await mcp.isLegacyRequest(request, message)) || !(isFirst || request.headers.has("mcp-session-id")))
      return this.#handler.fetch(request, options);
    if (isFirst && bytes > INITIALIZE_BYTES)
      throw new RequestProblem(
        "body_too_large",
        `The message that begins a session may have at most ${INITIALIZE_BYTES} bytes.`,
      );
    return this.#sessions.fetch(request, key, { ...options, bytes });
  }

  #hold(key: Key, bytes: number): () => void {
    return this.#parts.open.hold(key, bytes, "read its answers");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    cancel(this.#looking);
    await Promise.all([this.#handler.close(), this.#sessions[Symbol.asyncDispose]()]);
  }
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
