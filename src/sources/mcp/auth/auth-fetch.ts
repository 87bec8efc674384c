import { lookup } from "node:dns/promises";
import { deadline } from "../../../clock.ts";
import { isPublicAddress } from "../../../untrusted/public-address.ts";
import { ByteList } from "../../../values/byte-list.ts";
import { isFields } from "../../../values/fields.ts";
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
    if (url.origin !== server.origin && (await isPublicHost(server)) && !(await isPublicHost(url)))
      throw new MalformedMessage(`The server sends its clients to ${url.origin}, which is not on the public internet.`);
    const response = await fetch(url, { ...init, signal, redirect: "manual" });
    const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (location === null) return wholeAnswer(response, url);
    await response.body?.cancel();
    const next = new URL(location, url);
    if (next.origin !== url.origin || (init.method ?? "GET") !== "GET") break;
    url = next;
  }
  throw new MalformedMessage(`${url.origin} redirects a request for access, which is followed within its origin only.`);
}

async function isPublicHost({ hostname }: URL): Promise<boolean> {
  const addresses = await lookup(hostname.replace(/^\[|\]$/g, ""), { all: true });
  return addresses.every(({ address }) => isPublicAddress(address));
}

async function wholeAnswer(response: Response, url: URL): Promise<Response> {
  const read = new ByteList();
  for await (const chunk of response.body ?? []) {
    read.add(chunk);
    if (read.bytes > ANSWER_BYTES) throw new MessageTooLarge(ANSWER_BYTES, "bytes");
  }
  const { status, statusText, headers } = response;
  const hasBody = status !== 204 && status !== 205 && status !== 304;
  const whole = new Response(hasBody ? withoutEmpty(read.take().toString()) : null, { status, statusText, headers });
  Object.defineProperty(whole, "url", { value: url.href });
  return whole;
}

/** Many servers write null, or an empty text, for a field that an answer does not have. */
function withoutEmpty(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    if (!isFields(value)) return body;
    return JSON.stringify(Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null && one !== "")));
  } catch {
    return body;
  }
}
