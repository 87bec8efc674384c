import {
  checkOptions,
  fieldsOf,
  flag,
  hostOf,
  isOtherAddress,
  option,
  optionError,
  type OptionsOf,
  required,
  secret,
} from "../../base/index.ts";
import { isListOf } from "../http/keys.ts";
import { areWebhookSecrets } from "./signature.ts";

const WEBHOOK_EVENTS = ["execution_waiting", "execution_ended"] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export const WEBHOOK_RULES = {
  /** Where events are sent: an https address, without a name and a password in it. With `allowPrivate` also an http one. */
  url: secret(
    required(option<string>("an https address", (value) => typeof value === "string" && URL.canParse(value))),
  ),
  /**
   * What signs each request: at least 24 characters, or `whsec_` and the base64 of 24 bytes. To change it, give a list, the new one first: each of them signs, until
   * the receiver knows the new one.
   */
  secret: secret(
    required(
      option<string | readonly string[]>(
        "a text of 24 to 1024 characters, whsec_ and the base64 of 24 bytes or more, or a list of such",
        (value) => areWebhookSecrets([value].flat()) && [value].flat().length <= 4,
      ),
    ),
  ),
  /** What is told: `"execution_waiting"` and `"execution_ended"`; both by default. */
  events: option<readonly WebhookEvent[]>('a list of "execution_waiting" and "execution_ended"', (value) =>
    isListOf(WEBHOOK_EVENTS, value),
  ),
  /** Whether addresses that are not on the public internet may be called; false by default. */
  allowPrivate: flag(),
};

export type WebhookOptions = OptionsOf<typeof WEBHOOK_RULES>;

export interface Webhook {
  readonly url: URL;
  readonly secrets: readonly string[];
  readonly events: ReadonlySet<WebhookEvent>;
  readonly allowPrivate: boolean;
}

/** Checks the webhooks of a server. Throws `option_invalid`, without a secret in the message. */
export function readWebhooks(webhooks: readonly WebhookOptions[]): readonly Webhook[] {
  return webhooks.map((one, index) => {
    const place = `createServer({ webhooks })[${index}]`;
    if (typeof one !== "object" || one === null) throw optionError(place, "an object like { url, secret }", one);
    const {
      url: text,
      secret: secrets,
      events = WEBHOOK_EVENTS,
      allowPrivate = false,
    } = checkOptions(fieldsOf(place), one, WEBHOOK_RULES);
    const url = new URL(text);
    const refuse = (expected: string, found: string) => {
      throw optionError(`${place}.url`, expected, found);
    };
    if (url.protocol !== "https:" && !(allowPrivate && url.protocol === "http:"))
      refuse("an address of https, or with allowPrivate of http", url.protocol);
    if (url.username !== "" || url.password !== "") refuse("an address without a name and a password in it", url.host);
    // What the addresses of a name are is seen at each call.
    if (!allowPrivate && (isOtherAddress(hostOf(url)) || /(?:^|\.)localhost\.?$/.test(url.hostname)))
      refuse("an address on the public internet; others need allowPrivate", url.hostname);
    return { url, secrets: [secrets].flat(), events: new Set(events), allowPrivate };
  });
}
