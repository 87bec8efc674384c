import { createHmac, timingSafeEqual } from "node:crypto";
import { describeSecret, now, optionError } from "../../base/index.ts";

/** A key is as long as Standard Webhooks has it at least, in bytes, so that none is empty by mistake. */
const MIN_KEY_BYTES = 24;
/** How far the time of a webhook may be from now, in milliseconds. */
const TOLERANCE_MS = 5 * 60_000;

/** The headers that sign a body, as Standard Webhooks has them. Each secret signs: a receiver knows the old or the new one. */
export function signedHeaders(id: string, body: string, secrets: readonly string[]): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now() / 1000));
  const signatures = secrets.map((secret) => `v1,${macOf(secret, id, timestamp, body).toString("base64")}`);
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

export interface WebhookVerification {
  /** The headers of the request, by their names in lower case, or as `Headers`. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body as it came, a text or bytes, before it is parsed. */
  readonly body: string | Uint8Array;
  /** The secret of the webhook; of a list each holds, while it is changed. */
  readonly secret: string | readonly string[];
}

/**
 * Whether a webhook of the server is genuine and of the last five minutes. Its `webhook-id` is the same each time that it is
 * sent: a receiver that has seen the id has nothing more to do. Throws `option_invalid` for a body that was parsed, and for a
 * secret that no webhook has: with these nothing would ever be genuine.
 */
export function verifyWebhook({ headers, body, secret }: WebhookVerification): boolean {
  if (typeof body !== "string" && !(body instanceof Uint8Array))
    throw optionError("verifyWebhook({ body })", "the body as it came, a text or bytes, before it is parsed", body);
  const secrets = [secret].flat();
  if (!areWebhookSecrets(secrets))
    throw optionError(
      "verifyWebhook({ secret })",
      "the secret of the webhook, or a list of such",
      secret,
      describeSecret,
    );
  const of = (name: string) => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    return typeof value === "string" ? value : "";
  };
  const [id, timestamp, signatures] = [of("webhook-id"), of("webhook-timestamp"), of("webhook-signature")];
  if (id === "" || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now() - Number(timestamp) * 1000) > TOLERANCE_MS) return false;
  const macs = signatures.split(" ", 16).map((one) => Buffer.from(one.replace(/^v1,/, ""), "base64"));
  return secrets.some((one) => {
    const expected = macOf(one, id, timestamp, body);
    return macs.some((mac) => mac.length === expected.length && timingSafeEqual(mac, expected));
  });
}

/** Whether each secret gives a key that is long enough. Of `whsec_…` the key is what its base64 stands for. */
export function areWebhookSecrets(secrets: readonly unknown[]): boolean {
  const fits = (one: unknown) => typeof one === "string" && one.length <= 1024 && keyOf(one).length >= MIN_KEY_BYTES;
  return secrets.length > 0 && secrets.every(fits);
}

function keyOf(secret: string): Buffer {
  return secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : Buffer.from(secret);
}

function macOf(secret: string, id: string, timestamp: string, body: string | Uint8Array): Buffer {
  return createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.`).update(body).digest();
}
