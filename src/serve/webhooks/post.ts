import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { deadline } from "../../clock.ts";
import { answerTo, hostOf, isOtherAddress, publicLookup } from "../../untrusted/public-address.ts";
import type { Webhook } from "./webhook-options.ts";

const TIMEOUT_MS = 10_000;

/** What stops a webhook for good: to send it again would change nothing. */
export class NotAllowed extends Error {}

/**
 * Posts a body, and resolves with the status of the answer. The address that is connected to is the one that was checked.
 * Redirects are not followed, and of the answer nothing but its status is read.
 */
export async function post(
  { url, allowPrivate }: Pick<Webhook, "url" | "allowPrivate">,
  body: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<number> {
  const host = hostOf(url);
  if (!allowPrivate && isOtherAddress(host)) throw notPublic(host);
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const sent = request(url, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "user-agent": "portcullis",
    },
    signal: AbortSignal.any([signal, deadline(TIMEOUT_MS)]),
    agent: false,
    ...(allowPrivate ? {} : { lookup: publicLookup(notPublic) }),
  });
  const answering = answerTo(sent);
  sent.end(body);
  const answer = await answering;
  answer.destroy();
  return answer.statusCode ?? 0;
}

function notPublic(host: string): NotAllowed {
  return new NotAllowed(`${host} is not on the public internet: allowPrivate lets a webhook call it`);
}
