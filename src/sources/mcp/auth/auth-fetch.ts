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
  parsedJson,
  publicLookup,
} from "../../../base/index.ts";
import { MalformedMessage, MessageTooLarge } from "../wire/wire.ts";

const EMPTY = new Set([204, 205, 304]);
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
    const answerHeaders = new Headers();
    for (const [name, values] of Object.entries(answer.headersDistinct))
      for (const value of values!) answerHeaders.append(name, value);
    const status = answer.statusCode!;
    return new Response(EMPTY.has(status) ? null : (Readable.toWeb(answer) as ReadableStream), {
      status,
      headers: answerHeaders,
    });
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
  const body = EMPTY.has(status) ? null : withForms(read.take().toString());
  const whole = new Response(body, { status, statusText, headers });
  Object.defineProperty(whole, "url", { value: url.href });
  return whole;
}

/** Many servers write null, or an empty text, for a field that an answer does not have, and some leave out what the standards require. */
function withForms(body: string): string {
  const value = parsedJson(body);
  if (!isFields(value)) return body;
  const fields = Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null && one !== ""));
  const { access_token, client_id, token_type = "Bearer", redirect_uris = [] } = fields;
  return JSON.stringify({
    ...fields,
    token_type: access_token && token_type,
    redirect_uris: client_id && redirect_uris,
  });
}
