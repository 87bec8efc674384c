import { lookup } from "node:dns/promises";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";
import {
  answerTo,
  ByteList,
  deadline,
  hostOf,
  isFields,
  isOtherAddress,
  isPublicAddress,
  isTexts,
  publicLookup,
} from "../../../base/index.ts";
import { MalformedMessage, MessageTooLarge } from "../wire/wire.ts";

/** Maximum bytes of an answer. Metadata and tokens have some kilobytes. */
const ANSWER_BYTES = 256 * 1024;
const ANSWER_MS = 30_000;
const MOST_REDIRECTS = 5;

/**
 * Asks what OAuth needs, at addresses that a server names, and reads the answer whole. A redirect is followed within its
 * origin. A server on the public internet can name no address of another network, which this machine may reach and it not.
 */
export async function authFetch(server: URL, input: string | URL, init: RequestInit = {}): Promise<Response> {
  const signal = AbortSignal.any([deadline(ANSWER_MS), ...(init.signal ? [init.signal] : [])]);
  let url = new URL(input);
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const isForeign = url.origin !== server.origin && (await isOnInternet(server));
    const response = await (isForeign ? fetchPublic : fetch)(url, { ...init, signal, redirect: "manual" });
    const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (location === null) return wholeAnswer(response, url);
    await response.body?.cancel();
    const next = new URL(location, url);
    if (next.origin !== url.origin || (init.method ?? "GET") !== "GET") break;
    url = next;
  }
  throw new MalformedMessage(`${url.origin} redirects a request for access, which is followed within its origin only.`);
}

/** Whether a host has an address on the public internet: of several, others may be those of this machine. */
async function isOnInternet(server: URL): Promise<boolean> {
  const addresses = await lookup(hostOf(server), { all: true });
  return addresses.some(({ address }) => isPublicAddress(address));
}

/** Like `fetch`, at addresses on the public internet alone. */
async function fetchPublic(url: URL, init: RequestInit): Promise<Response> {
  const refusal = () =>
    new MalformedMessage(`The server sends its clients to ${url.origin}, which is not on the public internet.`);
  if (isOtherAddress(hostOf(url))) throw refusal();
  const { method, headers, body, signal } = new Request(url, init);
  const options = {
    method,
    headers: { ...Object.fromEntries(headers), "accept-encoding": "identity" },
    signal,
    agent: false,
    lookup: publicLookup(refusal),
  };
  try {
    const sent = (url.protocol === "https:" ? requestHttps : requestHttp)(url, options);
    const answering = answerTo(sent);
    sent.end(body ? Buffer.from(await new Response(body).arrayBuffer()) : undefined);
    const answer = await answering;
    const given = new Headers();
    for (const [name, values = []] of Object.entries(answer.headersDistinct))
      for (const value of values) given.append(name, value);
    const { statusCode: status = 0 } = answer;
    const hasBody = status !== 204 && status !== 205 && status !== 304;
    return new Response(hasBody ? (Readable.toWeb(answer) as ReadableStream) : null, { status, headers: given });
  } catch (cause) {
    if (cause instanceof MalformedMessage) throw cause;
    signal.throwIfAborted();
    throw new TypeError("fetch failed", { cause });
  }
}

async function wholeAnswer(response: Response, url: URL): Promise<Response> {
  const read = new ByteList();
  for await (const chunk of response.body ?? []) {
    read.add(chunk);
    if (read.bytes > ANSWER_BYTES) throw new MessageTooLarge(ANSWER_BYTES, "bytes");
  }
  const { status, statusText, headers } = response;
  const hasBody = status !== 204 && status !== 205 && status !== 304;
  const whole = new Response(hasBody ? withForms(read.take().toString()) : null, { status, statusText, headers });
  Object.defineProperty(whole, "url", { value: url.href });
  return whole;
}

/** Many servers write null, or an empty text, for a field that an answer does not have, or write it in a form of their own. */
function withForms(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    if (!isFields(value)) return body;
    const fields = Object.entries(value).map(([name, field]) => [name, formOf(name, field)] as const);
    const given = Object.fromEntries(fields.filter(([, one]) => one !== null && one !== "" && one !== undefined));
    const { access_token, client_id, token_type = "Bearer", redirect_uris = [] } = given;
    return JSON.stringify({
      ...given,
      ...(access_token !== undefined && { token_type }),
      ...(client_id !== undefined && { redirect_uris }),
    });
  } catch {
    return body;
  }
}

/** Fields that are lists of texts, texts and times, by their names. */
const LISTS = /_supported$|^(?:redirect_uris|grant_types|response_types|contacts|authorization_servers)$/;
const TEXTS = /^(?:token_type|scope|(?:id|refresh)_token|client_secret|token_endpoint_auth_method)$/;
const TIMES = /_at$/;

/** A field in the form that the standards have for it; undefined if it has no such form. */
function formOf(name: string, value: unknown): unknown {
  if (LISTS.test(name) && typeof value === "string") return value.split(" ");
  if (LISTS.test(name) && Array.isArray(value)) return value.filter((one) => typeof one === "string");
  if (TIMES.test(name)) return Number.isFinite(Number(value)) ? Number(value) : undefined;
  if (!TEXTS.test(name) || value === null) return value;
  return isTexts(value) ? value.join(" ") : typeof value === "string" ? value : undefined;
}
