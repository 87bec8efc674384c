import { expect, test } from "vitest";
import { boundedFetch } from "../../../src/models/provider/bounded-fetch.ts";
import { ProviderRequests, retryWaitMs } from "../../../src/models/provider/provider-requests.ts";
import { manualClock } from "../../support/clock.ts";
import { startLoopback } from "../loopback.ts";
import { testOfAll } from "../../support/all-tests.ts";

const waitFor = (status: number, headers: Record<string, string>, attempt = 1) => {
  manualClock(Date.parse("2026-11-21T10:00:00Z"));
  return retryWaitMs(status, new Headers(headers), attempt);
};

test.each<[Record<string, string>, number | undefined]>([
  [{ "retry-after": "7" }, 7000],
  [{ "retry-after": "0.5" }, 500],
  [{ "retry-after": "25" }, 25_000],
  [{ "retry-after": "26" }, undefined],
  [{ "retry-after": "99999999999" }, undefined],
  [{ "retry-after": "9".repeat(400) }, undefined],
  [{ "retry-after-ms": "99999999999999.9999999" }, undefined],
  [{ "retry-after": "Sat, 21 Nov 2026 10:00:09 GMT" }, 9000],
  [{ "retry-after": "Sat, 21 Nov 2026 09:00:00 GMT" }, 0],
  [{ "retry-after": "Sun, 21 Nov 2027 10:00:00 GMT" }, undefined],
  [{ "retry-after-ms": "12", "retry-after": "7" }, 12],
  [{ "x-should-retry": "false", "retry-after": "7" }, undefined],
])("after %j it waits %s ms", (headers, ms) => {
  expect(waitFor(529, headers)).toBe(ms);
});

test("without Retry-After the wait doubles, up to eight seconds", () => {
  for (const headers of [{}, { "retry-after": "soon" }, { "retry-after": "-5" }] as Record<string, string>[])
    for (const [attempt, most] of [500, 1000, 2000, 4000, 8000, 8000].entries()) {
      const ms = waitFor(503, headers, attempt + 1) ?? Number.NaN;
      expect(ms).toBeLessThanOrEqual(most);
      expect(ms).toBeGreaterThanOrEqual(most * 0.75);
    }
});

test("a refused request is not sent again, unless the provider asks for it", () => {
  for (const status of [200, 301, 400, 401, 403, 404, 413, 422]) expect(waitFor(status, {})).toBeUndefined();
  expect(waitFor(400, { "x-should-retry": "true", "retry-after": "1" })).toBe(1000);
});

/** Requests whose `fetch` is this one, which counts. */
function requestsWith(retries: number, fetched: () => Promise<Response>) {
  const sent = { count: 0 };
  const fetch = async () => {
    sent.count += 1;
    return fetched();
  };
  return {
    sent,
    requests: new ProviderRequests({ timeoutMs: 10_000, stream: false, retries, retryMs: 60_000, fetch }),
  };
}

test("a successful reply is used, whatever its headers say about retries", async () => {
  const headers = { "x-should-retry": "true", "retry-after": "0" };
  const { requests, sent } = requestsWith(3, async () => new Response("{}", { headers }));
  expect(await (await requests.fetch("http://x")).text()).toBe("{}");
  expect([sent.count, requests.attempts]).toEqual([1, 1]);
});

test.each([
  [new TypeError("fetch failed"), 2],
  [new DOMException("Late.", "TimeoutError"), 1],
])("a request that does not arrive is sent again, and one that times out is not: %s", async (thrown, times) => {
  const { requests, sent } = requestsWith(1, () => Promise.reject(thrown));
  await expect(requests.fetch("http://x")).rejects.toThrow(thrown.message);
  expect(sent.count).toBe(times);
});

test("the attempts and the time of each turn are counted anew", async () => {
  const busy = { status: 500, headers: { "retry-after": "0" } };
  const { requests, sent } = requestsWith(1, async () => new Response("{}", busy));
  for (const total of [2, 4]) {
    requests.begin();
    expect((await requests.fetch("http://x")).status).toBe(500);
    expect([requests.attempts, sent.count]).toEqual([2, total]);
  }
});

testOfAll("an event of a stream has its limit however many lines it has", async () => {
  const bounds = { timeoutMs: 10_000, stream: true, fetch };
  await using lines = await startLoopback(() => ({ type: "text", body: `data: ${"x".repeat(1000)}\n`.repeat(5300) }));
  await expect((await boundedFetch(bounds)(lines.url)).text()).rejects.toThrow("An event of the reply has more than");
  for (const end of ["\n\n", "\r\n\r\n", "\r\r"]) {
    await using events = await startLoopback(() => ({
      type: "text",
      body: `data: ${"x".repeat(1000)}${end}`.repeat(5300),
    }));
    expect((await (await boundedFetch(bounds)(events.url)).text()).length).toBeGreaterThan(5_000_000);
  }
});

test("the host's own work has its turns while thousands of events come at once", async () => {
  let turn = 0;
  const turns = new Set<number>();
  const count = () => {
    turn += 1;
    if (turn > 0) setImmediate(count);
  };
  setImmediate(count);
  const body = "data: x\n\n".repeat(20_000);
  const response = await boundedFetch({ timeoutMs: 10_000, fetch: async () => new Response(body) })("a:");
  for await (const _ of response.body ?? []) turns.add(turn);
  turn = Number.NEGATIVE_INFINITY;
  expect(turns.size).toBeGreaterThan(20_000 / 256);
});
