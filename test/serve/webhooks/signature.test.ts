import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { signedHeaders, verifyWebhook } from "../../../src/serve/webhooks/signature.ts";
import { readWebhooks } from "../../../src/serve/webhooks/webhook-options.ts";
import { manualClock } from "../../support/clock.ts";

const OLD = "old-secret-0123456789abcdef";
const NEW = "new-secret-0123456789abcdef";
const body = '{"id":"evt_1"}';

test("a signature is the HMAC of the id, the time and the body, as Standard Webhooks has it", () => {
  manualClock(1_700_000_000_000);
  const headers = signedHeaders("evt_1", body, [OLD]);
  const mac = createHmac("sha256", OLD).update(`evt_1.1700000000.${body}`).digest("base64");
  expect(headers).toEqual({
    "webhook-id": "evt_1",
    "webhook-timestamp": "1700000000",
    "webhook-signature": `v1,${mac}`,
  });
  const known = signedHeaders("evt_1", body, [`whsec_${Buffer.from(OLD).toString("base64")}`]);
  expect(known).toEqual(headers);
});

test("while a secret is changed, receivers that know the old or the new one verify, and a receiver may know both", () => {
  const headers = signedHeaders("evt_1", body, [NEW, OLD]);
  for (const secret of [OLD, NEW, [NEW, OLD]]) expect(verifyWebhook({ headers, body, secret })).toBe(true);
  expect(verifyWebhook({ headers: new Headers(headers), body, secret: OLD })).toBe(true);
  expect(verifyWebhook({ headers: signedHeaders("evt_1", body, [OLD]), body, secret: NEW })).toBe(false);
});

test.each(["", "short", "whsec_", `whsec_${"!".repeat(40)}`, `whsec_=${"A".repeat(40)}`])(
  "a secret without a key of 24 bytes verifies nothing and signs nothing: %j",
  (secret) => {
    const headers = signedHeaders("evt_1", body, [secret]);
    expect(() => verifyWebhook({ headers, body, secret })).toThrow("verifyWebhook({ secret })");
    expect(() => readWebhooks([{ url: "https://example.com", secret }])).toThrow("secret");
  },
);

test.each<[string, (headers: Record<string, string>) => Record<string, string>, string]>([
  ["another body", (headers) => headers, `${body} `],
  ["another id", (headers) => ({ ...headers, "webhook-id": "evt_2" }), body],
  [
    "another time",
    (headers) => ({ ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1) }),
    body,
  ],
  ["no signature", (headers) => ({ ...headers, "webhook-signature": "" }), body],
  ["a short signature", (headers) => ({ ...headers, "webhook-signature": "v1,AAAA" }), body],
  [
    "many signatures before it",
    (headers) => ({ ...headers, "webhook-signature": `${"v1,AAAA ".repeat(1000)}${headers["webhook-signature"]}` }),
    body,
  ],
  ["no headers", () => ({}), body],
])("%s does not verify", (_, change, sent) => {
  const headers = change({ ...signedHeaders("evt_1", body, [OLD]) });
  expect(verifyWebhook({ headers, body: sent, secret: OLD })).toBe(false);
});

test("a body is taken as it came, as text or bytes, and one that was parsed is refused, because its bytes are lost", () => {
  const headers = signedHeaders("evt_1", body, [OLD]);
  expect(verifyWebhook({ headers, body: Buffer.from(body), secret: OLD })).toBe(true);
  expect(verifyWebhook({ headers, body: new TextEncoder().encode(body), secret: OLD })).toBe(true);
  for (const parsed of [JSON.parse(body) as unknown, undefined, null])
    expect(() => verifyWebhook({ headers, body: parsed as string, secret: OLD })).toThrow(
      "verifyWebhook({ body }): expected the body as it came",
    );
  for (const secret of [undefined, [], [OLD, undefined]])
    expect(() => verifyWebhook({ headers, body, secret: secret as never })).toThrow("verifyWebhook({ secret })");
});

test("a request that is older than five minutes, or of the future, does not verify", () => {
  const headers = signedHeaders("evt_1", body, [OLD]);
  const clock = manualClock();
  clock.jump(5 * 60_000 + 2000);
  expect(verifyWebhook({ headers, body, secret: OLD })).toBe(false);
  clock.jump(-2 * (5 * 60_000 + 4000));
  expect(verifyWebhook({ headers, body, secret: OLD })).toBe(false);
});
