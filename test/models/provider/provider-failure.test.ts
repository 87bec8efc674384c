import { expect, test } from "vitest";
import { boundedFetch } from "../../../src/models/provider/bounded-fetch.ts";
import { failedReply, failure } from "../../../src/models/provider/provider-failure.ts";
import { startLoopback } from "../loopback.ts";

const about = {
  provider: "Anthropic",
  keyVariable: "ANTHROPIC_API_KEY",
  key: "my-own-key-0123",
  requests: { attempts: 1 },
};
const live = new AbortController().signal;

test("no failure has the key, whatever the provider writes", () => {
  const { message } = failure(
    "key_refused",
    about,
    "my-own-key-0123 is wrong, so is sk-proj-abcdef123456 and AIzaSyAbcdefghijk",
    401,
  );
  expect(message).toMatch(/ANTHROPIC_API_KEY.*: \[key\] is wrong, so is \[key\] and \[key\]$/);
});

test("no failure has a part of the key where the provider's words are shortened", () => {
  const { message } = failure("key_refused", about, `${"x".repeat(285)}my-own-key-0123`);
  expect(message).not.toContain("my-own");
  const broken = { ...about, key: "my\nown-key" };
  expect(failure("interrupted", broken, '"my\nown-key" is no header value.').message).toContain(
    '"[key]" is no header value.',
  );
});

test("a provider's words are put on one line and shortened", () => {
  const { message } = failure("server_failed", about, `a\n\u001b[31mb\u202e${"x".repeat(9999)}`);
  expect(message).toMatch(/: a \[31mb x+…$/);
  expect(message.length).toBeLessThan(400);
});

test.each<[unknown, string]>([
  [Object.assign(new Error("x"), { status: 529 }), "overloaded"],
  [
    Object.assign(new Error("x"), { error: { type: "error", error: { type: "overloaded_error", message: "x" } } }),
    "overloaded",
  ],
  [Object.assign(new Error("x"), { error: { type: "rate_limit_error" } }), "rate_limited"],
  [Object.assign(new Error("x"), { error: { type: "error", code: "rate_limit_exceeded" } }), "rate_limited"],
  [Object.assign(new Error("x"), { error: { type: "error", code: "server_error" } }), "server_failed"],
  [Object.assign(new Error('{"error":{"message":"API key not valid"}}'), { status: 400 }), "key_refused"],
  [Object.assign(new Error("x"), { status: 422 }), "request_refused"],
  [new Error("terminated", { cause: new Error("other side closed") }), "interrupted"],
  [new Error("x", { cause: new TypeError("fetch failed") }), "unreachable"],
  [new SyntaxError("Unexpected token"), "reply_invalid"],
  ["text", "interrupted"],
  [null, "interrupted"],
  [undefined, "interrupted"],
  [{ status: "401" }, "interrupted"],
])("what was thrown is told apart, %#", (error, code) => {
  expect(failedReply(error, live, about)).toMatchObject({ type: "failed", failure: { code } });
});

test("any error after an abort counts as the abort", () => {
  expect(failedReply(new Error("x"), AbortSignal.abort(), about)).toEqual({ type: "aborted" });
});

// ---- what is fetched -------------------------------------------------------------------------------------------

const bounds = { timeoutMs: 10_000, stream: false, fetch };

test("a redirect is not followed, because the key would be sent to the other host", async () => {
  const reached: string[] = [];
  await using other = await startLoopback(({ path }) => {
    reached.push(path);
    return { type: "text", body: "{}" };
  });
  await using server = await startLoopback(() => ({
    type: "json",
    status: 307,
    body: {},
    headers: { location: other.url },
  }));
  await expect(boundedFetch(bounds)(server.url)).rejects.toThrow("fetch failed");
  expect(reached).toEqual([]);
});
