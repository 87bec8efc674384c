import type { Client } from "@modelcontextprotocol/client";
import { isFields, type OutputTail, untilAborted, weigh, ignore } from "../../base/index.ts";
import { Channel, ProtocolFailure, type RequestOptions } from "./wire/channel.ts";
import { answerOf, type Dialogue, readAnswers, type ElicitationReply } from "./elicitation.ts";
import { type Access, HttpRefusal, HttpWire, SessionEnded } from "./wire/http-wire.ts";
import { type McpPackage, ConnectionLost, MalformedMessage, type Message, type Wire } from "./wire/wire.ts";
import type { ReadServer } from "./mcp-options.ts";
import type { ServerRequest } from "./protocol-method.ts";
import type { LargeList } from "./wire/large-messages.ts";
import { stdioWire } from "./wire/stdio-wire.ts";

const LIST = {
  pages: 100,
  tools: 10_000,
  page: { bytes: 16 * 1024 * 1024, largeValues: 4_000_000 },
  megabytes: 32,
} as const;
/** A result may hold a value twice, as data and as text in which quotes are escaped. */
const COPIES = 3;
const ENVELOPE_BYTES = 64 * 1024;
/** Values of a result beside its structured content: those of a hundred thousand blocks. */
const CONTENT_VALUES = 500_000;

export interface McpCallOptions {
  readonly signal: AbortSignal;
  readonly resultBytes: number;
  readonly resultValues: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly dialogue: Dialogue;
}

export interface SessionOpening {
  readonly mcp: McpPackage;
  readonly server: ReadServer;
  readonly access?: Access | undefined;
  readonly log: OutputTail;
  readonly onListChanged: () => void;
  readonly signal: AbortSignal;
}

export class Session {
  readonly #mcp: McpPackage;
  readonly #client: Client;
  readonly #channel: Channel;
  readonly protocol: ReadServer["protocol"];

  private constructor(mcp: McpPackage, client: Client, channel: Channel, protocol: ReadServer["protocol"]) {
    this.protocol = protocol;
    this.#mcp = mcp;
    this.#client = client;
    this.#channel = channel;
  }

  /**
   * Connects, and agrees on a version of the protocol. The server is asked in the new version first, over the same
   * connection. `lastVersion` is the protocol of an earlier session. Rejects with what has become of the connection, or with the
   * signal's reason; then nothing is left running.
   */
  static async open(opening: SessionOpening, lastVersion?: ReadServer["protocol"]): Promise<Session> {
    const { server, signal } = opening;
    const protocol = lastVersion ?? server.protocol;
    try {
      return await Session.#connect(opening, protocol);
    } catch (error) {
      // Some old servers end when they are asked in the new version: these are started a second time.
      const isOver = signal.aborted || lastVersion !== undefined || protocol !== "auto" || server.command === undefined;
      if (isOver || !(error instanceof ConnectionLost)) throw error;
      return await Session.#connect(opening, "2025-11-25");
    }
  }

  static async #connect(
    { mcp, server, access, log, onListChanged, signal }: SessionOpening,
    protocol: ReadServer["protocol"],
  ): Promise<Session> {
    const wire: Wire = server.command === undefined ? new HttpWire(mcp, { ...server, access }) : stdioWire(server, log);
    const channel = new Channel(wire);
    let lost: ConnectionLost | undefined;
    channel.onLost = (why) => {
      lost = new ConnectionLost(why);
    };
    // The package's own timeouts are longer than the signal's, except for `probe`: after that, silence means an old server.
    const timeout = 2 * server.connectTimeoutMs;
    const client = new mcp.Client(
      { name: "portcullis", version: "1" },
      {
        // Neither sampling nor roots: requests for them are refused.
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: {
          mode: protocol === "2025-11-25" ? "legacy" : protocol === "auto" ? "auto" : { pin: protocol },
          probe: { timeoutMs: server.command === undefined ? timeout : Math.ceil(server.connectTimeoutMs / 2) },
        },
        // Told at once: the package would wait for a pause, which a server need not make.
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onListChanged } },
        // Values are validated by the gate.
        jsonSchemaValidator: {
          getValidator: () => (data: unknown) => ({ valid: true, data, errorMessage: undefined }) as never,
        },
      },
    );
    const session = new Session(mcp, client, channel, protocol);
    client.setRequestHandler("elicitation/create", (request) => session.#onQuestion(request.params));
    try {
      signal.throwIfAborted();
      await untilAborted(client.connect(channel, { timeout, signal }), signal);
      if (lost) throw lost;
    } catch (error) {
      await channel.close();
      throw signal.aborted ? signal.reason : (lost ?? channel.explain(error));
    }
    return session;
  }

  /** What the handshake has agreed on, and what the server calls itself, as it sent it. */
  get peer() {
    const { name, version } = this.#client.getServerVersion() ?? {};
    return { protocol: this.#client.getNegotiatedProtocolVersion(), name, version };
  }

  get isOpen(): boolean {
    return this.#channel.isOpen;
  }

  async close(): Promise<void> {
    await this.#client.close().catch(ignore);
    await this.#channel.close();
  }

  /**
   * Lists the tools: each page is taken before the next page is asked for. An endless list is cut off. Resolves with why
   * the list is not whole, if it is not.
   */
  async listTools(signal: AbortSignal, take: (entries: readonly unknown[]) => Promise<void>) {
    if (!this.#client.getServerCapabilities()?.tools) return "The server says that it has no tools.";
    const cursors = new Set<string>();
    let cursor: string | undefined;
    let missing: number = LIST.tools;
    const cut = (how: string) => `The list of tools is cut off ${how}.`;
    let room = LIST.megabytes * 1024 * 1024;
    for (let pages = 0; pages < LIST.pages; pages += 1) {
      const options = { signal, limits: LIST.page, envelope: this.#envelope };
      const { tools = [], nextCursor } = await this.#request("tools/list", { cursor }, options);
      const listed = typeof tools === "function" ? await (tools as LargeList)(missing + 1) : tools;
      if (!Array.isArray(listed)) throw new MalformedMessage("Its list of tools is no list.");
      const entries = listed.slice(0, missing) as unknown[];
      room -= weigh([entries, nextCursor], room);
      if (room < 0) return cut(`after ${LIST.megabytes} MB`);
      await take(entries);
      signal.throwIfAborted();
      const isCut = listed.length > missing || (listed.length === missing && typeof nextCursor === "string");
      if (isCut) return cut(`after ${LIST.tools} tools`);
      missing -= listed.length;
      if (typeof nextCursor !== "string") return undefined;
      if (cursors.has(nextCursor)) return cut("where the server gave the same cursor again");
      cursors.add(nextCursor);
      cursor = nextCursor;
    }
    return cut(`after ${LIST.pages} pages`);
  }

  get hasResources(): boolean {
    return this.#client.getServerCapabilities()?.resources !== undefined;
  }

  /**
   * Makes a request that a tool's call stands for. Resolves with the result as the server sent it. Rejects with
   * `MessageTooLarge`, `MalformedMessage`, `ConnectionLost`, `HttpRefusal`, `ProtocolFailure`, the signal's reason, or the
   * error by which the dialogue has ended.
   */
  async call({ method, params: asked }: ServerRequest, options: McpCallOptions): Promise<Message> {
    const { resultBytes, resultValues, headers, dialogue } = options;
    const { ask } = dialogue;
    const signal = AbortSignal.any([options.signal, dialogue.ended]);
    let params = asked;
    for (;;) {
      const result = await this.#request(method, params, {
        signal,
        limits: { bytes: COPIES * resultBytes + ENVELOPE_BYTES, values: CONTENT_VALUES, largeValues: resultValues },
        headers,
        ask,
        envelope: this.#envelope,
      });
      const { resultType = "complete" } = result;
      if (resultType === "complete") return result;
      if (resultType !== "input_required" || !this.#envelope)
        throw new MalformedMessage("The server gave a result of an unknown type.");
      dialogue.countRound();
      params = { ...asked, ...(await readAnswers(result, ask)) };
    }
  }

  /** A request whose session the server may have forgotten: then the connection is closed, and it rejects with `SessionEnded`. */
  async #request(method: string, params: Message, options: RequestOptions): Promise<Message> {
    try {
      return await this.#channel.request(method, params, options);
    } catch (error) {
      const isEnded = error instanceof SessionEnded;
      if (!isEnded && !(mayBeSession(error) && (await this.#isForgotten(options.signal)))) throw error;
      void this.close();
      throw isEnded ? error : new SessionEnded("The server does not know the session.", { cause: error });
    }
  }

  /** Servers refuse a session that they do not know in many ways. In a session that they know they answer this request. */
  async #isForgotten(signal: AbortSignal): Promise<boolean> {
    if (!this.#channel.hasSession) return false;
    if (!this.isOpen) return true;
    try {
      await this.#channel.request("ping", {}, { signal, limits: {}, envelope: undefined });
      return false;
    } catch (error) {
      signal.throwIfAborted();
      return !this.isOpen || error instanceof SessionEnded || mayBeSession(error);
    }
  }

  /** Fields of each request in the new version of the protocol. */
  get #envelope(): Message | undefined {
    if (this.#client.getProtocolEra() !== "modern") return undefined;
    const { PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY } = this.#mcp;
    return {
      [PROTOCOL_VERSION_META_KEY]: this.#client.getNegotiatedProtocolVersion(),
      [CLIENT_INFO_META_KEY]: { name: "portcullis", version: "1" },
      [CLIENT_CAPABILITIES_META_KEY]: { elicitation: { form: {} } },
    };
  }

  /** Whether the server reads headers of calls: in the new version, over HTTP. */
  get readsHeaders(): boolean {
    return this.#channel.hasPerRequestStream && this.#envelope !== undefined;
  }

  async #onQuestion(params: unknown): Promise<ElicitationReply> {
    const ask = this.#channel.currentAsk;
    return ask && isFields(params) ? answerOf(params, ask) : { action: "cancel" };
  }
}

/** Whether a request may have failed because the server does not know its session: not by its method or its parameters. */
function mayBeSession(error: unknown): boolean {
  if (error instanceof HttpRefusal) return error.mayBeSession;
  return error instanceof ProtocolFailure ? ![-32601, -32602].includes(error.code) : error instanceof MalformedMessage;
}
