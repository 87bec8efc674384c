import { PortcullisError } from "../../errors.ts";
import type { CallContext, Tool } from "../../tools/tool.ts";
import { OutputTail } from "../../values/output-tail.ts";
import { ProtocolFailure } from "./channel.ts";
import { credentialsOf, ServerText } from "./clean-credentials.ts";
import { HttpRefusal, SessionEnded } from "./http-wire.ts";
import { loadMcp, type McpPackage } from "./load-client.ts";
import { type McpServer, type ReadServer, readServer } from "./mcp-options.ts";
import { headersOf } from "./param-headers.ts";
import { resultValue } from "./result-value.ts";
import { Session } from "./session.ts";
import { type McpPolicies, readToolList, type ServerTool, type ToolList, type UnassignedTool } from "./tool-list.ts";
import { ConnectionLost, MalformedMessage, type Message, MessageTooLarge } from "./wire.ts";
import { isFields } from "../../values/fields.ts";

/** How often a server may be connected to again, and in which time, in milliseconds. */
const RECONNECTS = { most: 3, withinMs: 60_000 } as const;
/** Bytes of a server's output that are kept for the operator, and how many of them an error quotes. */
const LOG_BYTES = 8 * 1024;
const QUOTED_LOG_BYTES = 1024;
/** Characters of what a server says of the progress of a call. */
const PROGRESS_LENGTH = 1024;
/** Questions that an approver is asked in one call; further ones are declined. */
const QUESTIONS = 16;
/** Least time between two readings of a server's list, in milliseconds. */
const LIST_AGAIN_MS = 1000;

/**
 * Connects to an MCP server and makes its tools callable through the gate. The caller disposes of the source. Rejects
 * with `option_invalid` for an option or a policy, and with `source_unavailable` if the server cannot be started or
 * reached, or does not list its tools in time; then nothing is left running.
 */
export async function fromMcp(server: McpServer, policies?: McpPolicies): Promise<McpSource> {
  const read = readServer(server);
  return McpSource.open(read, policies);
}

/** The tools of an MCP server. Made by `fromMcp`. */
export class McpSource implements AsyncDisposable {
  readonly #mcp: McpPackage;
  readonly #server: ReadServer;
  readonly #policies: McpPolicies | undefined;
  readonly #text: ServerText;
  readonly #log = new OutputTail(LOG_BYTES);
  readonly #closing = new AbortController();
  /** When the server was connected to, but for the first time. */
  #reconnects: number[] = [];
  #wasConnected = false;
  #session: Session | undefined;
  #connecting: Promise<Session> | undefined;
  #list: ToolList = {
    tools: [],
    unassigned: [],
    problems: [],
    listed: new Map(),
    originalOf: new Map(),
    known: new Map(),
  };
  #listProblem: string | undefined;
  /** Definitions of the first list, by the server's own name of the tool. */
  #pinned: ReadonlyMap<string, string> | undefined;
  #listing: NodeJS.Timeout | undefined;
  /** Whether the list has changed since it was asked for. */
  #isStale = false;
  /** Readings of the list so far. Of two at once the later one counts. */
  #readings = 0;
  /** Protocol of the last session. */
  #protocol: ReadServer["protocol"] | undefined;

  private constructor(mcp: McpPackage, server: ReadServer, policies: McpPolicies | undefined) {
    this.#mcp = mcp;
    this.#server = server;
    this.#policies = policies;
    this.#text = new ServerText(credentialsOf(server));
  }

  /** Connects to a server, and lists its tools. */
  static async open(server: ReadServer, policies: McpPolicies | undefined): Promise<McpSource> {
    const source = new McpSource(await loadMcp(), server, policies);
    try {
      await source.connect();
      return source;
    } catch (error) {
      await source[Symbol.asyncDispose]();
      throw error;
    }
  }

  get name(): string {
    return this.#server.name;
  }

  /** The tools that a caller may call, as the server lists them now. A runtime keeps those that it was given. */
  get tools(): readonly Tool[] {
    return this.#list.tools;
  }

  /** Tools of the server that no policy was given for. */
  get unassigned(): readonly UnassignedTool[] {
    return this.#list.unassigned;
  }

  /** The server's own names of all its tools. */
  get originals(): readonly string[] {
    return [...this.#list.listed.keys()];
  }

  /** What could not be taken over from the server's list, and why: a sentence each. */
  get problems(): readonly string[] {
    return [...(this.#listProblem === undefined ? [] : [this.#listProblem]), ...this.#list.problems];
  }

  /** For the operator: the end of what the server has written to standard error, without the values that it was given. */
  get log(): string {
    return this.#text.tail(this.#log);
  }

  /** Connects if there is no connection, and lists the tools. `fromMcp` has done so. */
  async connect(): Promise<void> {
    try {
      await this.#connected(this.#closing.signal);
    } catch (error) {
      throw PortcullisError.is(error) ? error : this.#notConnected(error);
    }
  }

  /** Ends the connection, and the server where it was started here. Calls that are open fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#closing.signal.aborted) this.#closing.abort(this.#unavailable("was closed", "Make the source again"));
    clearTimeout(this.#listing);
    await this.#connecting?.catch(() => {});
    await this.#session?.close();
  }

  /** The connection, made anew where it is lost. */
  async #connected(signal: AbortSignal): Promise<Session> {
    this.#closing.signal.throwIfAborted();
    if (this.#session?.isOpen) return this.#session;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return untilAborted(this.#connecting, signal);
  }

  /** The same for a call. How the server is started, and what it writes then, is not for programs. */
  async #connectedFor(name: string, signal: AbortSignal): Promise<Session> {
    try {
      return await this.#connected(signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof Unavailable ? error : this.#callFailed(name, false, error);
    }
  }

  async #connect(): Promise<Session> {
    if (this.#wasConnected) this.#countReconnect();
    this.#wasConnected = true;
    const timeout = AbortSignal.timeout(this.#server.connectTimeoutMs);
    const signal = AbortSignal.any([timeout, this.#closing.signal]);
    let session: Session | undefined;
    try {
      session = await Session.open(this.#mcp, this.#server, this.#log, () => this.#listAgain(), signal, this.#protocol);
      await this.#readList(session, signal);
      this.#protocol = session.protocol;
      this.#session = session;
      return session;
    } catch (error) {
      await session?.close();
      this.#closing.signal.throwIfAborted();
      throw timeout.aborted ? new NoList(this.#server.connectTimeoutMs) : error;
    }
  }

  #countReconnect(): void {
    const since = Date.now() - RECONNECTS.withinMs;
    this.#reconnects = this.#reconnects.filter((at) => at > since);
    const [first] = this.#reconnects;
    if (first !== undefined && this.#reconnects.length >= RECONNECTS.most) {
      const waitSeconds = Math.ceil((first - since) / 1000);
      throw this.#unavailable(
        `was connected to ${RECONNECTS.most} times in a minute, and is left alone for a while`,
        `Try again in ${waitSeconds} s`,
      );
    }
    this.#reconnects.push(Date.now());
  }

  async #readList(session: Session, signal: AbortSignal): Promise<void> {
    this.#readings += 1;
    const reading = this.#readings;
    const { entries, problem } = await session.listTools(signal);
    const { name: source, timeoutMs, pin } = this.#server;
    const list = await readToolList(
      {
        source,
        policies: this.#policies,
        timeoutMs,
        known: this.#list.known,
        call: (tool, name, input, context) => this.#call(tool, name, input, context),
      },
      entries,
    );
    if (reading !== this.#readings) return;
    const digests = new Map([...list.listed].map(([original, { digest }]) => [original, digest]));
    const isFirst = this.#pinned === undefined;
    this.#pinned ??= digests;
    const before = this.#list;
    this.#list = pin ? withoutChanged(list, this.#pinned) : list;
    this.#listProblem = problem;
    if (!isFirst) this.#tellChange(before, list);
  }

  #tellChange(before: ToolList, now: ToolList): void {
    const added = [...now.listed.keys()].filter((original) => !before.listed.has(original));
    const removed = [...before.listed.keys()].filter((original) => !now.listed.has(original));
    const changed = [...now.listed].flatMap(([original, { digest }]) => {
      const old = before.listed.get(original);
      return old && old.digest !== digest ? [original] : [];
    });
    if (added.length + removed.length + changed.length === 0) return;
    try {
      this.#server.onSourceChange?.({ source: this.name, added, removed, changed });
    } catch {
      // The listener's own.
    }
  }

  /** Reads the list again soon: a server may say at any time, and as often as it likes, that it has changed. */
  #listAgain(): void {
    this.#isStale = true;
    if (this.#listing || this.#closing.signal.aborted) return;
    this.#listing = setTimeout(() => {
      this.#isStale = false;
      void this.#readListAgain().finally(() => {
        this.#listing = undefined;
        // It has changed again while it was read.
        if (this.#isStale) this.#listAgain();
      });
    }, LIST_AGAIN_MS);
    this.#listing.unref();
  }

  async #readListAgain(): Promise<void> {
    // A connection that is lost lists the tools once it is made anew; one that is being made may have listed them before.
    const session = await (this.#connecting?.catch(() => undefined) ?? this.#session);
    if (!session?.isOpen) return;
    const signal = AbortSignal.any([AbortSignal.timeout(this.#server.connectTimeoutMs), this.#closing.signal]);
    try {
      await this.#readList(session, signal);
    } catch (error) {
      this.#listProblem = `The list of tools has changed and could not be read again: ${whatFailed(error, this.#text)}.`;
    }
  }

  /** Makes a call at the server. A call that only reads, or may be repeated, is sent a second time where the connection was lost. */
  async #call(tool: ServerTool, name: string, input: unknown, context: CallContext): Promise<unknown> {
    const { listed, headers } = tool;
    const { effect, signal, resultBytes, ask, execution, callId } = context;
    let questions = 0;
    for (let attempt = 1; ; attempt += 1) {
      const session = await this.#connectedFor(name, signal);
      this.#refuseChanged(listed.original, name, listed.digest);
      try {
        const result = await session.callTool(listed.original, input, {
          signal,
          resultBytes,
          headers: session.readsHeaders ? headersOf(headers, input) : {},
          onProgress: this.#server.onProgress && ((progress) => this.#tellProgress(name, execution, callId, progress)),
          ask: async (question) => {
            questions += 1;
            return questions <= QUESTIONS ? await ask(question) : false;
          },
        });
        return resultValue(result, this.#text, context.caller);
      } catch (error) {
        if (error instanceof SessionEnded && this.#session === session) void session.close();
        signal.throwIfAborted();
        this.#closing.signal.throwIfAborted();
        if (PortcullisError.is(error)) throw error;
        if (error instanceof MessageTooLarge)
          throw new PortcullisError("result_too_large", `The result of ${name} has more than ${resultBytes} bytes.`, {
            cause: error,
          });
        const isSource = error instanceof ConnectionLost || error instanceof MalformedMessage;
        if (isSource && effect !== "write" && attempt === 1) continue;
        throw this.#callFailed(name, effect !== "read" && !(error instanceof ProtocolFailure), error);
      }
    }
  }

  /** Refuses a call of a tool whose definition is no longer that of the first list. */
  #refuseChanged(original: string, name: string, digest: string): void {
    if (!this.#server.pin) return;
    const now = this.#list.listed.get(original)?.digest;
    if (now === digest && this.#pinned?.get(original) === digest) return;
    throw new PortcullisError(
      "source_unavailable",
      `The definition of ${name} has changed since it was pinned, so it is refused. Continue without it.`,
    );
  }

  #tellProgress(tool: string, execution: string, callId: string, { progress, total, message }: Message): void {
    if (typeof progress !== "number") return;
    try {
      this.#server.onProgress?.({
        tool,
        execution,
        callId,
        progress,
        ...(typeof total === "number" ? { total } : {}),
        ...(typeof message === "string" ? { message: this.#text.head(message, PROGRESS_LENGTH) } : {}),
      });
    } catch {
      // The listener's own.
    }
  }

  /** For the program: no detail of this machine. */
  #callFailed(name: string, mayHaveTakenEffect: boolean, cause: unknown): PortcullisError {
    const effect = mayHaveTakenEffect
      ? " The call may have taken effect: find out whether it did before you repeat it."
      : "";
    return new PortcullisError(
      "source_unavailable",
      `The server of ${name} ${whatFailed(cause, this.#text)}.${effect}`,
      { cause },
    );
  }

  /** For the developer: with what the server has written, and how it has ended. */
  #notConnected(cause: unknown): PortcullisError {
    const what = whatFailed(cause, this.#text);
    const log = this.#text.quote(this.log.trim(), QUOTED_LOG_BYTES).replaceAll(/\s+/g, " ");
    const said = log === "" ? "" : ` It wrote: ${log}`;
    const how = cause instanceof ConnectionLost && this.#server.command !== undefined ? ` (${cause.message})` : "";
    return new PortcullisError("source_unavailable", `MCP server "${this.name}": it ${what}${how}.${said}`, { cause });
  }

  /** For the developer and for programs. */
  #unavailable(what: string, advice: string): PortcullisError {
    return new Unavailable("source_unavailable", `The MCP server "${this.name}" ${what}. ${advice}.`);
  }
}

/** An error without details of this machine. */
class Unavailable extends PortcullisError {}

/** The server did not list its tools in time. */
class NoList extends Error {
  constructor(ms: number) {
    super(`did not list its tools within ${ms} ms`);
  }
}

/** The list without tools whose definition is not the pinned one, which are problems. Tools that are new are not pinned. */
function withoutChanged(list: ToolList, pinned: ReadonlyMap<string, string>): ToolList {
  const isChanged = (original: string) => pinned.get(original) !== list.listed.get(original)?.digest;
  const changed = [...list.listed.keys()].filter(isChanged);
  if (changed.length === 0) return list;
  const kept = new Set([...list.listed.keys()].filter((original) => !isChanged(original)));
  return {
    ...list,
    tools: list.tools.filter((tool) => kept.has(list.originalOf.get(tool.name) ?? "")),
    unassigned: list.unassigned.filter(({ original }) => kept.has(original)),
    problems: [
      ...list.problems,
      ...changed.map(
        (original) => `${JSON.stringify(original)} is left out: it is new or has changed since the tools were pinned.`,
      ),
    ],
  };
}

/** What has become of a request or a connection, behind the words "the server". */
function whatFailed(error: unknown, text: ServerText): string {
  if (error instanceof NoList) return error.message;
  if (PortcullisError.is(error)) return "cannot be started, or its tools cannot be taken over";
  if (error instanceof ProtocolFailure) return `refused the request: ${JSON.stringify(text.quote(error.message))}`;
  if (error instanceof HttpRefusal) return `answered with the status ${error.status}`;
  if (error instanceof MessageTooLarge) return "sent a message that is too large";
  if (error instanceof MalformedMessage) return "sent an answer that breaks the protocol";
  if (error instanceof ConnectionLost) return "cannot be reached, or broke off";
  const { message } = isFields(error) || error instanceof Error ? (error as { readonly message?: unknown }) : {};
  return `does not speak the protocol: ${JSON.stringify(text.quote(typeof message === "string" ? message : String(error)))}`;
}

async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
