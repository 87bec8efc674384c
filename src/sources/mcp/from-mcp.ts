import {
  deadline,
  isFields,
  Lane,
  now,
  OutputTail,
  PortcullisError,
  tooManyValues,
  untilAborted,
  ignore,
} from "../../base/index.ts";
import { commentLine } from "../../tools/declarations/one-line.ts";
import type { CallContext, Effect, Tool } from "../../tools/tool.ts";
import { ProtocolFailure } from "./wire/channel.ts";
import { credentialsOf, secretsOf, ServerText } from "./clean-credentials.ts";
import { dialogueWith } from "./elicitation.ts";
import { readOAuth, tokenAccess } from "./auth/auth-option.ts";
import { NeedsPerson, NoAccess } from "./auth/no-access.ts";
import { OAuthClient } from "./auth/oauth-client.ts";
import { type Access, HttpRefusal } from "./wire/http-wire.ts";
import { loadMcp, type McpPackage, ConnectionLost, MalformedMessage, MessageTooLarge } from "./wire/wire.ts";
import { type McpServer, type ReadServer, readServer } from "./mcp-options.ts";
import { headersOf } from "./wire/param-headers.ts";
import { Session } from "./session.ts";
import { listAgain } from "./list-again.ts";
import { sourceTools } from "./pinned-tools.ts";
import { type McpPolicies, type ServerTool, toolsOf, type UnassignedTool, unassignedOf } from "./make-tools.ts";

/** How often, and within how many milliseconds, a server may be connected to again. */
const RECONNECTS = { most: 3, withinMs: 60_000 } as const;
/** Bytes of a server's output that are kept for the operator, and how many of them an error quotes. */
const LOG_BYTES = 8 * 1024;
const QUOTED_LOG_BYTES = 1024;
const QUOTED_BYTES = 512;
/** Characters of a server's name, and of its version; and how many are read. */
const [IDENTITY_LENGTH, IDENTITY_READ] = [128, 1024];

export async function fromMcp(server: McpServer, policies?: McpPolicies): Promise<McpSource> {
  return McpSource.open(readServer(server), policies);
}

/** Who answers at a server's end. Its name and version are its own words, and prove nothing. */
export interface ServerIdentity {
  /** Version of the protocol that both sides have agreed on. */
  readonly protocol?: string;
  /** One line of at most 128 characters, without credentials that the server was given. */
  readonly name?: string;
  /** Like `name`. */
  readonly version?: string;
}

/** The tools of an MCP server. Made by `fromMcp`. */
export class McpSource implements AsyncDisposable {
  readonly #mcp: McpPackage;
  readonly #server: ReadServer;
  readonly #text: ServerText;
  readonly #log = new OutputTail(LOG_BYTES);
  readonly #closing = new AbortController();
  readonly #tools: ReturnType<typeof sourceTools>;
  readonly #listAgain = listAgain(() => this.#readListAgain());
  #connectedAt: readonly number[] | undefined;
  #access: Access | undefined;
  #oauth: OAuthClient | undefined;
  #session: Session | undefined;
  #connecting: Promise<Session> | undefined;

  private constructor(mcp: McpPackage, server: ReadServer, policies: McpPolicies | undefined) {
    this.#mcp = mcp;
    this.#server = server;
    this.#tools = sourceTools(server, policies, {
      call: (...call) => this.#call(...call),
      answeredBy: () => {
        const { name, version, protocol } = this.server;
        return [name, version, protocol && `(MCP ${protocol})`].filter(Boolean).join(" ");
      },
    });
    this.#text = new ServerText(credentialsOf(server), secretsOf(server));
  }

  static async open(server: ReadServer, policies: McpPolicies | undefined): Promise<McpSource> {
    const source = new McpSource(await loadMcp(), server, policies);
    try {
      await source.#openAccess();
      await source.connect();
      return source;
    } catch (error) {
      await source[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #openAccess(): Promise<void> {
    const { auth, name, url = "" } = this.#server;
    const onToken = (token: string) => this.#text.hide(token);
    if (typeof auth === "function") this.#access = tokenAccess(auth, onToken);
    else if (auth) {
      const parts = { mcp: this.#mcp, source: name, serverUrl: url, options: readOAuth(auth), onToken };
      this.#access = this.#oauth = await OAuthClient.open(parts);
    }
  }

  get name(): string {
    return this.#server.name;
  }

  /** The version of the protocol, and what the server calls itself, by the latest handshake. */
  get server(): ServerIdentity {
    const peer = Object.entries(this.#session?.peer ?? {});
    const clean = (text: string) => commentLine(this.#text.head(text, IDENTITY_READ).toWellFormed(), IDENTITY_LENGTH);
    const entries = peer.map(([name, text = ""]) => [name, clean(text)] as const);
    return Object.fromEntries(entries.filter(([, text]) => text !== ""));
  }

  /** The tools that a caller may call, by the latest list of the server. A runtime keeps the tools that it was given. */
  get tools(): readonly Tool[] {
    return toolsOf(this.#tools.entries());
  }

  /** Tools of the server that no policy was given for. */
  get unassigned(): readonly UnassignedTool[] {
    return unassignedOf(this.#tools.entries());
  }

  /** Names that all its tools have or would have in a program. */
  get names(): readonly string[] {
    return this.#tools.all().map(({ name }) => name);
  }

  /** The server's own names of all its tools. */
  get originals(): readonly string[] {
    return this.#tools.all().map(({ listed }) => listed.original);
  }

  /** What could not be taken over, or is not checked, from the server's list, and why: a sentence each. */
  get problems(): readonly string[] {
    return this.#tools.problems();
  }

  /** For the operator: the end of the server's standard error, without the credentials that the server was given. */
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

  /** Ends the connection, and the server if it was started here. Calls that are open fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#closing.signal.aborted) this.#closing.abort(this.#unavailable("was closed", "Make the source again"));
    this.#listAgain.stop();
    await this.#connecting?.catch(ignore);
    await this.#session?.close();
    this.#oauth?.close();
  }

  async #connected(signal: AbortSignal): Promise<Session> {
    this.#closing.signal.throwIfAborted();
    if (this.#session?.isOpen) return this.#session;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return untilAborted(this.#connecting, signal);
  }

  /** Work for a call: programs must not learn how the server is started and what it writes then. */
  async #forCall<Value>(name: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof Unavailable ? error : this.#callFailed(name, false, error);
    }
  }

  async #connect(): Promise<Session> {
    const since = now() - RECONNECTS.withinMs;
    const again = this.#connectedAt?.filter((at) => at > since);
    const [first = since] = again ?? [];
    if (again && again.length >= RECONNECTS.most)
      throw this.#unavailable(
        `was connected to ${RECONNECTS.most} times in a minute, and is left alone for a while`,
        `Try again in ${Math.ceil((first - since) / 1000)} s`,
      );
    this.#connectedAt = again ? [...again, now()] : [];
    try {
      return await this.#connectNow();
    } catch (error) {
      if (!(error instanceof NeedsPerson)) throw error;
      await this.#oauth?.askPerson(this.#closing.signal);
      return await this.#connectNow();
    }
  }

  async #connectNow(): Promise<Session> {
    const timeout = deadline(this.#server.connectTimeoutMs);
    const signal = AbortSignal.any([timeout, this.#closing.signal]);
    let session: Session | undefined;
    try {
      const opening = {
        mcp: this.#mcp,
        server: this.#server,
        access: this.#access,
        log: this.#log,
        onListChanged: this.#listAgain.notify,
        signal,
      };
      session = await Session.open(opening, this.#session?.protocol);
      await this.#tools.read(session, signal);
      this.#session = session;
      return session;
    } catch (error) {
      await session?.close();
      this.#closing.signal.throwIfAborted();
      if (timeout.aborted) throw new NoList(`did not list its tools within ${this.#server.connectTimeoutMs} ms`);
      throw error;
    }
  }

  async #readListAgain(): Promise<void> {
    // A new connection lists the tools. A connection that is being made may have listed them before the change.
    const session = await (this.#connecting?.catch(() => undefined) ?? this.#session);
    if (!session?.isOpen) return;
    const signal = AbortSignal.any([deadline(this.#server.connectTimeoutMs), this.#closing.signal]);
    try {
      await this.#tools.read(session, signal);
    } catch (error) {
      this.#tools.fail(`The list of tools has changed and could not be read again: ${whatFailed(error, this.#text)}.`);
    }
  }

  /**
   * Makes a call at the server. A call that only reads, or may be repeated, is sent a second time if the connection was
   * lost before the server asked for anything. An answer that cannot be read is no reason to repeat the call.
   */
  async #call(tool: ServerTool, name: string, input: unknown, context: CallContext): Promise<unknown> {
    const { listed, headers, declared, sent, method } = tool;
    const { effect, signal, resultBytes, resultValues, ask, caller, isNamed, idempotencyKey } = context;
    const { original } = listed;
    const source = this.name;
    const called = { name, original, source, declared, input, caller, isNamed, idempotencyKey, resultValues };
    const request = method.request({ ...called, input: sent(input) });
    const dialogue = dialogueWith(ask, () => declined(name, effect));
    let isAsked = false;
    for (let attempt = 1; ; attempt += 1) {
      const session = await this.#forCall(name, signal, () => this.#connected(signal));
      this.#tools.refuseChanged(original, name, listed.digest);
      try {
        const result = await session.call(request, {
          signal,
          resultBytes,
          resultValues,
          headers: session.readsHeaders ? headersOf(headers, input) : {},
          dialogue,
        });
        await this.#text.clean(result, new Lane(`source ${source}`));
        return await method.value(result, called, this.#text);
      } catch (error) {
        signal.throwIfAborted();
        this.#closing.signal.throwIfAborted();
        if (PortcullisError.is(error)) throw error;
        // The server has refused the request before it did anything.
        if (error instanceof NeedsPerson && !isAsked) {
          isAsked = true;
          const asked = this.#oauth!.askPerson(this.#closing.signal);
          await this.#forCall(name, signal, () => untilAborted(asked, signal));
          continue;
        }
        if (error instanceof MessageTooLarge)
          throw error.of === "values"
            ? tooManyValues(error.allowed)
            : new PortcullisError("result_too_large", `The result of ${name} has more than ${resultBytes} bytes.`, {
                cause: error,
              });
        const mayRepeat = effect !== "write" && attempt === 1 && !dialogue.hasBegun();
        if (mayRepeat && error instanceof ConnectionLost) continue;
        const refused = error instanceof ProtocolFailure ? method.refused?.(error.code, called) : undefined;
        if (refused) throw refused;
        const isDone = effect !== "read" && !(error instanceof ProtocolFailure || error instanceof NoAccess);
        throw this.#callFailed(name, isDone, error);
      }
    }
  }

  /** For the program: no detail of this machine. */
  #callFailed(name: string, mayHaveTakenEffect: boolean, cause: unknown): PortcullisError {
    const effect = mayHaveTakenEffect ? MAY_HAVE_TAKEN_EFFECT : "";
    const sentence = `The server of ${name} ${whatFailed(cause, this.#text)}.${effect}`;
    return new PortcullisError("source_unavailable", sentence, { cause });
  }

  /** For the developer: with what the server has written, and how it has ended. */
  #notConnected(cause: unknown): PortcullisError {
    const what = whatFailed(cause, this.#text);
    const log = this.#text.quote(this.log.trim(), QUOTED_LOG_BYTES).replaceAll(/\s+/g, " ");
    const note = log === "" ? "" : ` It wrote: ${log}`;
    const detail =
      cause instanceof NoAccess
        ? cause.detail
        : cause instanceof ConnectionLost || cause instanceof MalformedMessage
          ? cause.message
          : undefined;
    const how = detail === undefined ? "" : ` (${this.#text.quote(detail.replace(/\.$/, ""), QUOTED_BYTES)})`;
    return new PortcullisError("source_unavailable", `MCP server "${this.name}": it ${what}${how}.${note}`, { cause });
  }

  #unavailable(what: string, advice: string): PortcullisError {
    return new Unavailable("source_unavailable", `The MCP server "${this.name}" ${what}. ${advice}.`);
  }
}

const MAY_HAVE_TAKEN_EFFECT = " The call may have taken effect: find out whether it did before you repeat it.";

/** For the program: an approver has declined a question, and the server asked again. */
function declined(name: string, effect: Effect): PortcullisError {
  return new PortcullisError(
    "tool_failed",
    `The server of ${name} asked for input in the midst of the call. It was declined; the server asked again, so the call was ended.` +
      (effect === "read" ? "" : MAY_HAVE_TAKEN_EFFECT),
  );
}

class Unavailable extends PortcullisError {}

class NoList extends Error {}

/** What has become of a request or a connection, as the rest of a sentence that begins with "the server". */
function whatFailed(error: unknown, text: ServerText): string {
  if (error instanceof NoList) return error.message;
  if (PortcullisError.is(error)) return "cannot be started, or its tools cannot be taken over";
  if (error instanceof ProtocolFailure) return `refused the request: ${JSON.stringify(text.quote(error.message))}`;
  if (error instanceof HttpRefusal) return `answered with the status ${error.status}${saidBy(error, text)}`;
  if (error instanceof NoAccess) return `gives no access: ${error.message}${saidBy(error, text)}`;
  if (error instanceof MessageTooLarge) return "sent a message that is too large";
  if (error instanceof MalformedMessage) return "sent an answer that breaks the protocol";
  if (error instanceof ConnectionLost) return "cannot be reached, or broke off";
  const { message } = isFields(error) || error instanceof Error ? (error as { readonly message?: unknown }) : {};
  return `does not speak the protocol: ${JSON.stringify(text.quote(typeof message === "string" ? message : String(error)))}`;
}

function saidBy({ reason }: HttpRefusal | NoAccess, text: ServerText): string {
  return reason === undefined ? "" : `, and says: ${JSON.stringify(text.quote(reason, QUOTED_BYTES))}`;
}
