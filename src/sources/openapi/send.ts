import { STATUS_CODES } from "node:http";
import {
  ByteList,
  MAX_DEPTH,
  monotonic,
  now,
  pause,
  Places,
  PortcullisError,
  readerFor,
  readExact,
  readPlainEscapes,
  REFUSED_BY_SOURCE,
  type Release,
  type TextReader,
  tooManyValues,
  asUntrusted,
  ignore,
} from "../../base/index.ts";
import { commentLine } from "../../tools/declarations/one-line.ts";
import { type Content, content, isMediaType } from "../../tools/content.ts";
import type { CallContext, Effect } from "../../tools/tool.ts";
import { type BodyForm, formOf } from "./operations.ts";
import { basePath, type RequestParts } from "./request.ts";
import { KeptSecrets, SECRET_NAME } from "../kept-secrets.ts";
import { type Authorization, type Secret, secretValue } from "./secrets.ts";

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;
/** Bytes of a failure's body that are read, and characters that a program may read of it. */
const FAILURE_BYTES = 64 * 1024;
const FAILURE_LENGTH = 2000;
/** Shorter secrets, like `admin` or `2024`, are words and numbers of any data, which would be missing there. */
const SHORTEST_SECRET = 8;
/** Types of texts whose lines or events are JSON. */
const HOLDS_JSON = /^(?:application|text)\/(?:x-)?(?:[\w.+-]*json-seq|ndjson|jsonl|json-?lines|event-stream)\b/i;
/** Shortest wait before a request is repeated, in milliseconds; doubled each time. */
const FIRST_WAIT_MS = 100;

export interface Sender {
  readonly source: string;
  readonly baseUrl: URL;
  readonly authorization: Authorization;
  readonly headers: Readonly<Record<string, Secret>>;
  /**
   * For bodies over `LARGE_BYTES`, each tenant's in turn: nothing counts them until they are read. A body that stalls keeps its
   * place, so there are as many again, each for a tenant that has none.
   */
  readonly large: Places;
}

const LARGE_BYTES = 1024 * 1024;
const LARGE_AT_ONCE = 4;

export const placesForLarge = () => new Places({ atOnce: LARGE_AT_ONCE, first: LARGE_AT_ONCE });

export interface Call extends RequestParts {
  /** Whether a model that calls directly gets bytes as an image or a file, and not as the base64 that the tool declares. */
  readonly asPart: boolean;
  readonly method: string;
  readonly accept: string;
  /** Media type of the body; undefined for `FormData`, which has its own. */
  readonly contentType: string | undefined;
  readonly effect: Effect;
  readonly timeoutMs: number;
}

/**
 * Sends a request and reads its answer. Redirects are followed on the same host only. If a server tells
 * a call that only reads when to come back, the call waits as far as its time allows. Rejects with a `PortcullisError`:
 * `tool_failed` with status and message of an answer that is no success, `source_unavailable` without an answer,
 * `result_too_large` once more than `context.resultBytes` have come.
 */
export async function send(sender: Sender, call: Call, context: CallContext): Promise<unknown> {
  const answered = await askForSuccess(sender, call, context);
  const { signal, tenant, resultBytes } = context;
  let release: Release | undefined;
  const enter = async () => {
    release ??= await sender.large.take(tenant, signal);
    signal.throwIfAborted();
  };
  try {
    const bytes = await readBody(sender, answered.response, resultBytes, "refuse", enter);
    return await valueIn(sender, call, answered, bytes, context);
  } finally {
    release?.();
  }
}

interface Answered {
  readonly response: Response;
  /** Secrets of the request, which the body may repeat. */
  readonly secrets: KeptSecrets;
  /** Whether the server has sent the request elsewhere, which may have done something before. */
  readonly isRedirected: boolean;
}

async function askForSuccess(sender: Sender, call: Call, context: Pick<CallContext, "signal">): Promise<Answered> {
  const deadline = monotonic() + call.timeoutMs;
  for (let attempt = 0; ; attempt += 1) {
    const answered = await ask(sender, call, context.signal);
    const { response } = answered;
    if (response.ok) return answered;
    const asked = call.effect === "read" ? askedWaitMs(response) : undefined;
    const waitMs = asked === undefined ? undefined : Math.max(asked, FIRST_WAIT_MS * 2 ** attempt);
    if (waitMs === undefined || monotonic() + waitMs >= deadline) throw await failureOf(sender, call, answered);
    await drop(response);
    await pause(waitMs, context);
    context.signal.throwIfAborted();
  }
}

/** Sends a request, and follows redirects on the same host. */
async function ask(sender: Sender, call: Call, signal: AbortSignal): Promise<Answered> {
  const { baseUrl } = sender;
  let path = `${basePath(baseUrl)}${call.path}`;
  let { query, method, body } = call;
  for (let redirects = 0; ; redirects += 1) {
    const credentials = await credentialsOf(sender);
    const url = addressOf(baseUrl, path, query, credentials);
    const response = await fetch(url, {
      method,
      headers: headersOf(call, credentials, body),
      body: body as string | undefined,
      redirect: "manual",
      signal,
    }).catch((cause: unknown) => {
      throw unreachable(sender.source, cause, call.effect);
    });
    const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
    if (location === null) {
      const secrets = new KeptSecrets(credentials.secrets, SHORTEST_SECRET);
      return { response, secrets, isRedirected: redirects > 0 };
    }
    const next = URL.parse(location, url.href);
    await drop(response);
    if (next?.origin !== baseUrl.origin || next.username !== "" || next.password !== "")
      throw failed(sender, response.status, ["It redirects to another host, which is not followed."]);
    if (redirects === MAX_REDIRECTS)
      throw failed(sender, response.status, [`It redirects more than ${MAX_REDIRECTS} times.`]);
    path = next.pathname;
    query = next.search.slice(1);
    // A 301 says that nothing was done here: without its body the request would be another operation.
    if (response.status === 303 || (response.status === 302 && method === "POST")) {
      if (method !== "HEAD") method = "GET";
      body = undefined;
    }
  }
}

interface Credentials {
  readonly headers: readonly (readonly [string, string])[];
  readonly query: readonly [string, string] | undefined;
  /** Texts that must not leave the host in any other way. */
  readonly secrets: readonly string[];
}

async function credentialsOf({ authorization, headers }: Sender): Promise<Credentials> {
  const { where, name: own, give } = authorization;
  const [shown = "", ...kept] = await give();
  const entries: (readonly [string, string])[] = [];
  for (const [name, value] of Object.entries(headers)) {
    const text = await secretValue(value);
    entries.push([name, text]);
    // Any other value, like a version that is a date, would be missing in the data of every answer.
    if (typeof value === "function" || SECRET_NAME.test(name)) kept.push(text);
  }
  if (where === "header") entries.push([own, shown]);
  if (where === "cookie") entries.push(["cookie", `${own}=${encodeURIComponent(shown)}`]);
  return { headers: entries, query: where === "query" ? [own, shown] : undefined, secrets: kept };
}

/** The address of a request. It must stay as it was written, at the host of `baseUrl`. */
function addressOf(baseUrl: URL, path: string, query: string, credentials: Credentials): URL {
  const url = new URL(`${baseUrl.origin}${path}`);
  if (url.origin !== baseUrl.origin || url.pathname !== path)
    throw new PortcullisError("tool_failed", "The input makes an address that this tool does not have.");
  url.search = query;
  if (!credentials.query) return url;
  const [name, value] = credentials.query;
  // An object of the input may have brought a parameter of this name.
  if (url.searchParams.has(name)) url.searchParams.delete(name);
  url.search = `${url.search === "" ? "" : `${url.search.slice(1)}&`}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  return url;
}

function headersOf(call: Call, credentials: Credentials, body: RequestParts["body"]): Headers {
  const headers = new Headers({ "user-agent": "portcullis" });
  for (const [name, value] of call.headers) headers.set(name, value);
  if (call.cookies.length > 0) headers.set("cookie", call.cookies.join("; "));
  headers.set("accept", call.accept);
  if (body !== undefined && call.contentType !== undefined) headers.set("content-type", call.contentType);
  for (const [name, value] of credentials.headers) {
    const others = name === "cookie" ? call.cookies : [];
    headers.set(name, [...others, value].join("; "));
  }
  return headers;
}

function unreachable(source: string, cause: unknown, effect: Effect): PortcullisError {
  const unsure = effect === "read" ? "" : " The call may have taken effect.";
  return new PortcullisError("source_unavailable", `${source} cannot be reached, or broke off.${unsure}`, { cause });
}

async function valueIn(
  sender: Sender,
  { asPart }: Pick<Call, "asPart">,
  { response, secrets }: Answered,
  bytes: Buffer,
  { resultValues, caller, signal, tenant }: CallContext,
): Promise<unknown> {
  if (bytes.length === 0) return null;
  const reader = { ...readerFor(tenant), signal };
  const mediaType = response.headers.get("content-type");
  const form = mediaType === null ? "json" : formOf(mediaType);
  if (form === "bytes" || form === "multipart") {
    const mime = commentLine(secrets.takenFrom(mediaType!), 100);
    const kept = await secrets.takenFromBytes(bytes);
    return asPart && caller === "direct" ? partOf(mime, kept) : { mediaType: mime, base64: kept.toString("base64") };
  }
  const text = await secrets.takenFromWhole(await saidIn(sender, bytes, { mediaType, form, reader }));
  if (form !== "json") return text;
  const bounds = { depth: MAX_DEPTH, values: resultValues };
  const read = await readExact(asUntrusted(text), bounds, reader);
  if (read.ok) return read.value;
  if (read.fault === "values") throw tooManyValues();
  if (mediaType === null && read.fault === "syntax") return text;
  throw new PortcullisError("source_unavailable", `${sender.source} answered with JSON that cannot be read.`);
}

function partOf(mime: string, data: Buffer): Content {
  const essence = mime.split(";", 1)[0]!.trim();
  const mediaType = isMediaType(essence) ? essence : "application/octet-stream";
  const type = mediaType.startsWith("image/") ? "image" : "file";
  return content({ value: { mediaType: mime, bytes: data.length }, parts: [{ type, mediaType, data }] });
}

interface BodyText {
  readonly mediaType: string | null;
  readonly form: BodyForm;
  readonly reader: TextReader;
}

/** Text of an answer, in the form in which secrets are looked for. */
async function saidIn({ source }: Sender, bytes: Buffer, { mediaType, form, reader }: BodyText): Promise<string> {
  const charset = /;\s*charset="?([\w-]{1,40})/i.exec(mediaType ?? "")?.[1] ?? "utf-8";
  let text: string;
  try {
    text = new TextDecoder(charset).decode(bytes);
  } catch {
    text = new TextDecoder().decode(bytes);
  }
  if (form !== "json" && !HOLDS_JSON.test(mediaType ?? "")) return text;
  const plain = await readPlainEscapes(asUntrusted(text), reader);
  if (plain !== undefined) return plain;
  throw new PortcullisError("source_unavailable", `${source} answered with JSON that takes too long to read.`);
}

/** Reads a body up to a number of bytes. A larger body is given up, or cut. Nothing is parsed before. */
async function readBody(
  { source }: Sender,
  response: Response,
  maxBytes: number,
  larger: "refuse" | "cut",
  onLarge?: () => Promise<void>,
): Promise<Buffer> {
  const tooLarge = () => new PortcullisError("result_too_large", `The answer has more than ${maxBytes} bytes.`);
  if (larger === "refuse" && Number(response.headers.get("content-length")) > maxBytes) {
    await drop(response);
    throw tooLarge();
  }
  const body = new ByteList();
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      body.add(chunk);
      // Leaving the loop cancels the body.
      if (body.bytes > maxBytes) break;
      if (body.bytes > LARGE_BYTES) await onLarge?.();
    }
  } catch (cause) {
    throw unreachable(source, cause, "write");
  }
  if (body.bytes > maxBytes && larger === "refuse") throw tooLarge();
  return body.take().subarray(0, maxBytes);
}

async function failureOf(sender: Sender, { effect }: Call, { response, secrets, isRedirected }: Answered) {
  const body = await readBody(sender, response, FAILURE_BYTES, "cut").catch(() => Buffer.alloc(0));
  const mediaType = response.headers.get("content-type") ?? "text/plain";
  const form = formOf(mediaType);
  const text =
    form === "bytes" ? "" : await saidIn(sender, body, { mediaType, form, reader: readerFor(sender.source) });
  const message = secrets.takenFrom(text, { end: body.length === FAILURE_BYTES });
  const line = commentLine(message, FAILURE_LENGTH);
  const waitMs = askedWaitMs(response);
  const wait = `It asks to wait ${Math.ceil(waitMs! / 1000)} s`;
  const error = failed(sender, response.status, [
    waitMs !== undefined && (effect === "read" ? `${wait}, longer than this call may take.` : `${wait}.`),
    line !== "" && `It says: ${line}`,
  ]);
  if (response.status === 429 && !isRedirected) REFUSED_BY_SOURCE.set(error, sourceName(sender));
  return error;
}

export function sourceName({ source }: Pick<Sender, "source">): string {
  return `openapi ${source}`;
}

function failed({ source }: Sender, status: number, more: readonly (string | false)[]): PortcullisError {
  const reason = STATUS_CODES[status];
  const sentence = `${source} answered with status ${status}${reason === undefined ? "" : ` (${reason})`}.`;
  return new PortcullisError("tool_failed", [sentence, ...more].filter(Boolean).join(" "));
}

/** The wait that a server asks for: a number of seconds, or a date. */
function askedWaitMs({ status, headers }: Response): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const after = headers.get("retry-after")?.trim() ?? "";
  if (/^\d{1,9}$/.test(after)) return Number(after) * 1000;
  // `Date.parse` accepts almost any text.
  const date = /^\w{3}, \d\d \w{3} \d{4} /.test(after) ? Date.parse(after) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now());
}

/** Gives the connection up: the rest of the body may be endless. */
async function drop(response: Response): Promise<void> {
  await response.body?.cancel().catch(ignore);
}
