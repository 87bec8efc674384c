import { describe, expect, test } from "vitest";
import { fromMcp } from "../../../src/index.ts";
import { manualClock } from "../../support/clock.ts";
import { type HttpServer, serve } from "./http-servers.ts";
import { shorterSpan } from "../../../src/sources/mcp/list-again.ts";
import { call, READ } from "./servers.ts";

interface Request {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly cursor?: string };
}

/** A server that lists a tool more with each list, and says of a list what `holds` gives: of each of its two pages. */
async function serveLists(
  version: string,
  holds: (page: number) => object,
): Promise<HttpServer & { readonly lists: () => number }> {
  let lists = 0;
  const server = await serve((request, body, response): unknown => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body.toString()) as Request;
    if (id === undefined) return response.writeHead(202).end();
    const page = params?.cursor === undefined ? 0 : 1;
    if (method === "tools/list" && page === 0) lists += 1;
    const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
    const known = { capabilities: { tools: {} }, serverInfo: { name: "hand", version: "1" } };
    const answers: Readonly<Record<string, object>> = {
      initialize: { protocolVersion: version, ...known },
      "server/discover": { supportedVersions: [version], ...known, ttlMs: 0, cacheScope: "private" },
      "tools/list": { tools: [tool(`page${page}_${lists}`)], ...(page === 0 && { nextCursor: "1" }), ...holds(page) },
      "tools/call": { content: [{ type: "text", text: "called" }] },
    };
    const result = answers[method];
    const error = { code: -32601, message: "Method not found" };
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(
      JSON.stringify({
        jsonrpc: "2.0",
        id,
        ...(result ? { result: { resultType: "complete", ...result } } : { error }),
      }),
    );
  });
  return Object.assign(server, { lists: () => lists });
}

const sourceOf = ({ url }: HttpServer) => fromMcp({ name: "web", url, protocol: "2026-07-28" }, READ);

describe("a list that its server says holds for 40 seconds", () => {
  const holding = () => serveLists("2026-07-28", (page) => ({ ttlMs: page === 0 ? 3_600_000 : 40_000 }));

  test("is read again when it is used after that, by the page that holds the shortest", async () => {
    const clock = manualClock();
    await using server = await holding();
    await using source = await sourceOf(server);
    clock.pass(39_000);
    expect(source.tools).toHaveLength(2);
    clock.pass(2000);
    expect(source.tools.map(({ name }) => name)).toEqual(["web.page0_1", "web.page1_1"]);
    clock.pass(1000);
    await expect.poll(() => source.tools.map(({ name }) => name)).toContain("web.page0_2");
    expect(server.lists()).toBe(2);
  });

  test("is read again when one of its tools is called", async () => {
    const clock = manualClock();
    await using server = await holding();
    await using source = await sourceOf(server);
    const { tools } = source;
    clock.pass(41_000);
    expect(await call(tools, "web.page0_1({})")).toBe("called");
    clock.pass(1000);
    await expect.poll(() => server.lists()).toBe(2);
  });
});

test.each<readonly [string, unknown, number | undefined]>([
  ["0", 0, 30_000],
  ["a minute", 60_000, 60_000],
  ["more than a timer can count", 1e300, 86_400_000],
  ["more than any number", Number.POSITIVE_INFINITY, 86_400_000],
  ["less than nothing", -1, undefined],
  ["no number", Number.NaN, undefined],
  ["a text", "0", undefined],
  ["a list", [0], undefined],
])("a page that says it holds for %s", (_what, sent, span) => {
  expect(shorterSpan(undefined, sent)).toBe(span);
  expect(shorterSpan(40_000, sent)).toBe(Math.min(40_000, span ?? 40_000));
});
