import { listOf, loadPackage, parsedJson, textOf } from "../../../base/index.ts";

/** A JSON-RPC message that was parsed and not checked. */
export type Message = Readonly<Record<string, unknown>>;

export type MessageId = string | number;

/** A value without what is null: many servers write so what they do not have. Looks at so many levels. */
export function dropNulls(value: unknown, levels: number): unknown {
  if (levels === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => dropNulls(one, levels - 1));
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, dropNulls(field, levels - 1)]));
}

export interface WireOptions {
  /** Ends the exchange of a request, if each has its own. */
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface MessageLimits {
  readonly bytes: number;
  readonly values: number;
  /** Values of a result's structured content, or of a list of tools. */
  readonly largeValues: number;
}

export interface WireEvents {
  readonly allowed: () => MessageLimits;
  readonly onMessage: (message: unknown) => void;
  /** No answer to this request will come; without an id, no answer to any open request. */
  readonly onFailed: (id: MessageId | undefined, error: Error) => void;
  readonly onClosed: (why: string) => void;
}

export interface Wire {
  /** Whether each request has an exchange of its own, which is ended by its signal. */
  readonly hasExchanges: boolean;
  /** Whether the server has given a session, which it may forget. */
  readonly hasSession?: boolean;
  start(events: WireEvents): Promise<void>;
  send(message: Message, options: WireOptions): Promise<void>;
  setProtocolVersion?(version: string): void;
  close(): Promise<void>;
  /** What an error of `send`, or of the package, says of this wire: one of the errors below if it fits. */
  explain?(error: unknown): unknown;
  /** The request whose exchange the code runs in that handles a message, if each has its own. */
  currentRequest?(): MessageId | undefined;
}

/** A message has more bytes, or values, than it may have. */
export class MessageTooLarge extends Error {
  override readonly name = "MessageTooLarge";
  readonly allowed: number;
  readonly of: "bytes" | "values";

  constructor(allowed: number, of: "bytes" | "values") {
    super(`A message of the server has more than ${allowed} ${of}.`);
    this.allowed = allowed;
    this.of = of;
  }
}

/** The server sent something that is no message, or no answer to the request. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

export type McpPackage = typeof import("@modelcontextprotocol/client");

/** The package that speaks the protocol, loaded with the first source: most programs have none. */
export function loadMcp(): Promise<McpPackage> {
  const missing = "fromMcp needs the package @modelcontextprotocol/client: npm install @modelcontextprotocol/client.";
  return loadPackage("source_unavailable", missing, () => import("@modelcontextprotocol/client"));
}

/** What the codes of failed connections mean; others have the words of node. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, "its host is not known here"],
  [/^ECONNREFUSED$/, "nothing listens at its address"],
  [/^(EPROTO|ERR_SSL_)/, "it does not speak TLS there, or none that node takes: is the address to begin with http://?"],
  [
    /CERT|SIGNATURE|ISSUER/,
    "node does not trust its certificate: NODE_EXTRA_CA_CERTS names a file of further authorities",
  ],
  [/^HPE_/, "it does not answer by HTTP: is the address to begin with https://?"],
];

/** Why a request was not answered, for the developer: what `fetch` throws has it in its cause. */
export function reasonOf(error: Error): string {
  const { cause } = error;
  // The package has its validator's list of faults as a message.
  const faults = parsedJson(error.message);
  if (Array.isArray(faults))
    return faults.map((fault) => [...listOf(fault, "path"), textOf(fault, "message")].join(": ")).join("; ");
  if (!(cause instanceof Error)) return error.message;
  const [first = cause] = cause instanceof AggregateError ? (cause.errors as Error[]) : [cause];
  const { code = "", message } = first as NodeJS.ErrnoException;
  const meaning = REASONS.find(([codes]) => codes.test(code))?.[1];
  return meaning === undefined ? message : `${meaning} (${code}: ${message.trim()})`;
}
