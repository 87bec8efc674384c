import type { ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { readData } from "../../../../examples/read-data.ts";
import { createRuntime, type OpenApiPolicies } from "../../../../src/index.ts";
import { createMemorySandbox } from "../../../../src/testing.ts";
import { jsonSchemaOf } from "../../../../src/tools/tool-schemas.ts";
import { type Arrived, callTool, operationOf, sendJson, sourceOf, startServer } from "../api-server.ts";

const GITHUB = new URL("../../../../examples/operations/api.github.com.json.br", import.meta.url);
const DOCUMENT = readData(GITHUB) as object;

type Answer = (url: URL, response: ServerResponse, request: Arrived) => void;
let answer: Answer;
const server = await startServer((request, response) =>
  answer(new URL(request.url, "http://localhost"), response, request),
);
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => void server.arrived.splice(0));

const PAGINATE: Readonly<Record<string, object>> = {
  "api.issues.listForRepo": { next: { link: true } },
  "api.issues.listLabelsForRepo": { next: { page: "page" } },
  "api.search.repos": { items: "/items", next: { cursor: "/next", param: "page" } },
  "api.activity.listPublicEvents": { items: "/rows", next: { cursor: "/next/url" } },
};
const { tools } = await sourceOf(
  DOCUMENT,
  { baseUrl: `${server.baseUrl}/v3`, auth: { bearer: "the-secret" }, checkResults: false },
  ((name) =>
    PAGINATE[name]
      ? { allowedCallers: ["direct", "programmatic"], paginate: PAGINATE[name] }
      : false) as OpenApiPolicies,
);

/** What a program reads of a list of GitHub's, and how it ended. */
async function read(call: string, most = Number.MAX_SAFE_INTEGER) {
  await using runtime = await createRuntime({
    tools,
    sandbox: createMemorySandbox(),
    logger: { error: () => {} },
  });
  const report = await runtime.execute(`const items = [];
    try { for await (const { n } of tools.api.${call}) { items.push(n); if (items.length === ${most}) break; } }
    catch ({ code, message }) { return [items, code, message]; }
    return items;`);
  expect(report.calls).toHaveLength(1);
  return report.outcome.type === "completed" ? report.outcome.value : report.outcome;
}

const ISSUES = 'issues.listForRepo({ owner: "o", repo: "r", state: "all", per_page: 2 })';
const LABELS = 'issues.listLabelsForRepo({ owner: "o", repo: "r", per_page: 2 })';
const SEARCH = 'search.repos({ q: "a&page=9" })';
const EVENTS = "activity.listPublicEvents({})";

const pageIn = (url: URL) => Number(url.searchParams.get("page") ?? "1");
/** Rows of a page of two, of five rows. */
const rowsOf = (page: number, rows = 5) => [2 * page - 1, 2 * page].filter((n) => n <= rows).map((n) => ({ n }));
const linkTo = (...links: readonly (readonly [string, string])[]) => ({
  link: links.map(([address, relation]) => `<${address}>; rel="${relation}"`).join(", "),
});

describe("a list of GitHub's in pages is a stream", () => {
  test("by the header Link, whose addresses need not be those of the operation", async () => {
    answer = (url, response) => {
      const page = pageIn(url);
      const next = `${server.baseUrl}/v3/repositories/1/issues?state=all&per_page=2&page=`;
      const links = page < 3 ? [[`${next}${page + 1}`, "next"] as const] : [];
      sendJson(response, rowsOf(page), 200, linkTo(...links, [`${next}1`, "first"]));
    };
    expect(await read(ISSUES)).toEqual([1, 2, 3, 4, 5]);
    expect(server.arrived.map(({ url }) => url)).toEqual([
      "/v3/repos/o/r/issues?state=all&per_page=2",
      "/v3/repositories/1/issues?state=all&per_page=2&page=2",
      "/v3/repositories/1/issues?state=all&per_page=2&page=3",
    ]);
    for (const { headers } of server.arrived) expect(headers.authorization).toBe("Bearer the-secret");
  });

  test("by the number of the page, until one is empty", async () => {
    answer = (url, response) => sendJson(response, rowsOf(pageIn(url), 4));
    expect(await read(LABELS)).toEqual([1, 2, 3, 4]);
    expect(server.arrived.map(({ url }) => url)).toEqual(
      [1, 2, 3].map((page) => `/v3/repos/o/r/labels?per_page=2&page=${page}`),
    );
  });

  test("by a cursor that is the value of a parameter, which cannot become another one", async () => {
    const cursors = ["a&q=evil#x", 3, null];
    let asked = 0;
    answer = (_, response) => {
      asked += 1;
      sendJson(response, { items: asked === 2 ? [] : rowsOf(asked), next: cursors[asked - 1] });
    };
    expect(await read(SEARCH)).toEqual([1, 2, 5]);
    expect(server.arrived.map(({ url }) => url)).toEqual([
      "/v3/search/repositories?q=a%26page%3D9",
      "/v3/search/repositories?q=a%26page%3D9&page=a%26q%3Devil%23x",
      "/v3/search/repositories?q=a%26page%3D9&page=3",
    ]);
  });

  test("by a cursor that is the address of the next page", async () => {
    answer = (url, response) => {
      const page = pageIn(url);
      sendJson(response, { rows: rowsOf(page), ...(page < 3 ? { next: { url: `?page=${page + 1}` } } : {}) });
    };
    expect(await read(EVENTS)).toEqual([1, 2, 3, 4, 5]);
    expect(server.arrived.map(({ url }) => url)).toEqual(["/v3/events", "/v3/events?page=2", "/v3/events?page=3"]);
  });

  test("whose tool has no parameter of the page, and the type of an item", async () => {
    const of = (name: string) => tools.find((tool) => tool.name === `api.${name}`) ?? expect.fail(name);
    const fieldsOf = (name: string) => Object.keys(jsonSchemaOf(name, "input", of(name).input).properties as object);
    expect(fieldsOf("issues.listLabelsForRepo")).toEqual(["owner", "repo", "per_page"]);
    expect(fieldsOf("search.repos")).not.toContain("page");
    expect(fieldsOf("issues.listForRepo")).toContain("page");
    const schemaOf = (name: string) => jsonSchemaOf(name, "output", of(name).output ?? expect.fail(name));
    for (const name of ["issues.listForRepo", "issues.listLabelsForRepo", "search.repos"])
      expect(schemaOf(name)).not.toMatchObject({ type: "array" });
    expect(JSON.stringify(schemaOf("search.repos"))).toContain('"full_name"');
    expect(of("activity.listPublicEvents").output).toBeUndefined();
    expect(of("issues.listForRepo")).toMatchObject({ stream: true, resumes: "from-start" });
  });

  test("of no items, whether the server writes nothing, null or an empty list", async () => {
    for (const empty of [undefined, null, []]) {
      answer = (_, response) => (empty === undefined ? response.writeHead(204).end() : sendJson(response, empty));
      expect(await read(LABELS)).toEqual([]);
      expect(await read(ISSUES)).toEqual([]);
    }
    answer = (_, response) => sendJson(response, { items: null, next: "" });
    expect(await read(SEARCH)).toEqual([]);
  });

  test("that has no end ends with the program's break, after few further pages", async () => {
    answer = (url, response) =>
      void setTimeout(30).then(() => sendJson(response, rowsOf(pageIn(url), Number.POSITIVE_INFINITY)));
    expect(await read(LABELS, 5)).toEqual([1, 2, 3, 4, 5]);
    // Two batches may be ahead of a program, each gathered for at most 50 ms.
    expect(server.arrived.length).toBeLessThan(12);
    const asked = server.arrived.length;
    await setTimeout(200);
    expect(server.arrived.length).toBe(asked);
  });

  test("and an array for a model that calls directly", async () => {
    answer = (url, response) => sendJson(response, rowsOf(pageIn(url)));
    expect(await callTool(tools, "api.issues.listLabelsForRepo", { owner: "o", repo: "r" })).toEqual({
      ok: true,
      value: [1, 2, 3, 4, 5].map((n) => ({ n })),
    });
  });
});

describe("a list ends with a typed error after the items before it", () => {
  const next =
    (address: string): Answer =>
    (url, response) =>
      sendJson(response, rowsOf(pageIn(url)), 200, linkTo([address, "next"]));

  test.each<readonly [string, string, (port: number) => Answer, readonly unknown[]]>([
    [
      "if a link leads to itself",
      ISSUES,
      () => next("?state=all&per_page=2"),
      [[1, 2], "handler_failed", expect.stringContaining("leads from page 1 back to one that was read already")],
    ],
    [
      "if links lead in a circle",
      ISSUES,
      () => (url, response) => next(`?page=${3 - pageIn(url)}`)(url, response, {} as Arrived),
      [[1, 2, 3, 4, 1, 2], "handler_failed", expect.stringContaining("back to one that was read already")],
    ],
    [
      "if a cursor repeats",
      SEARCH,
      () => (url, response) => sendJson(response, { items: rowsOf(pageIn(url)), next: 2 }),
      [[1, 2, 3, 4], "handler_failed", expect.stringContaining("leads from page 2 back")],
    ],
    [
      "if a cursor is no value of a parameter",
      SEARCH,
      () => (_, response) => sendJson(response, { items: rowsOf(1), next: { a: 1 } }),
      [[1, 2], "handler_failed", expect.stringContaining('no usable cursor at "/next"')],
    ],
    [
      "if a cursor is too long",
      SEARCH,
      () => (_, response) => sendJson(response, { items: rowsOf(1), next: "x".repeat(10_000) }),
      [[1, 2], "handler_failed", expect.stringContaining("no usable cursor")],
    ],
    [
      "if a page fails after three",
      LABELS,
      () => (url, response) =>
        pageIn(url) === 4 ? sendJson(response, { message: "broken" }, 500) : sendJson(response, rowsOf(pageIn(url), 9)),
      [[1, 2, 3, 4, 5, 6], "handler_failed", expect.stringContaining("500")],
    ],
    [
      "if a page breaks off",
      LABELS,
      () => (url, response) =>
        pageIn(url) === 2
          ? response.writeHead(200, { "content-length": "9" }).write("[", () => response.destroy())
          : sendJson(response, rowsOf(pageIn(url))),
      [[1, 2], "source_unavailable", expect.stringContaining("broke off")],
    ],
    [
      "if a page is no JSON",
      LABELS,
      () => (url, response) =>
        pageIn(url) === 2
          ? response.writeHead(200, { "content-type": "application/json" }).end("<p>")
          : sendJson(response, rowsOf(pageIn(url))),
      [[1, 2], "source_unavailable", expect.any(String)],
    ],
    [
      "if a page has no list",
      LABELS,
      () => (url, response) => sendJson(response, pageIn(url) === 2 ? { message: "x" } : rowsOf(pageIn(url))),
      [[1, 2], "handler_failed", 'api answered without a list at "" (page 2). Its policy says where.'],
    ],
    [
      "if a link leads to another host",
      ISSUES,
      () => next("https://evil.example/x"),
      [[1, 2], "handler_failed", "api names a next page at another host, which is not followed."],
    ],
    [
      "if a link leads to another port",
      ISSUES,
      (port) => next(`http://127.0.0.1:${port + 1}/v3/x`),
      [[1, 2], "handler_failed", expect.stringContaining("another host")],
    ],
    [
      "if a link leads to another scheme",
      ISSUES,
      (port) => next(`https://127.0.0.1:${port}/v3/x`),
      [[1, 2], "handler_failed", expect.stringContaining("another host")],
    ],
    [
      "if a link has a user",
      ISSUES,
      (port) => next(`http://u@127.0.0.1:${port}/v3/x`),
      [[1, 2], "handler_failed", expect.stringContaining("another host")],
    ],
    [
      "if a link leads to a host behind slashes",
      ISSUES,
      () => next("//evil.example/v3/x"),
      [[1, 2], "handler_failed", expect.stringContaining("another host")],
    ],
    [
      "if a link leads to a host behind backslashes",
      ISSUES,
      () => next("\\\\evil.example\\v3"),
      [[1, 2], "handler_failed", expect.stringContaining("another host")],
    ],
    [
      "if a link is a script",
      ISSUES,
      () => next("javascript:alert(1)"),
      [[1, 2], "handler_failed", expect.stringContaining("another host")],
    ],
    [
      "if a link is nonsense",
      ISSUES,
      () => next("http://["),
      [[1, 2], "handler_failed", expect.stringContaining("another host")],
    ],
    [
      "if a link leads out of the API",
      ISSUES,
      () => next("/v3/../admin"),
      [[1, 2], "handler_failed", expect.stringContaining("outside of the address of its API")],
    ],
    [
      "if a link leads beside the API",
      ISSUES,
      () => next("/v33/x"),
      [[1, 2], "handler_failed", expect.stringContaining("outside of the address of its API")],
    ],
    [
      "if a link leads out of the API once it is decoded",
      ISSUES,
      () => next("/v3/..%2fadmin"),
      [[1, 2], "handler_failed", expect.stringContaining("outside of the address of its API")],
    ],
    [
      "if a link cannot be decoded",
      ISSUES,
      () => next("/v3/%ff"),
      [[1, 2], "handler_failed", expect.stringContaining("outside of the address of its API")],
    ],
    [
      "if a cursor leads to another host",
      EVENTS,
      () => (_, response) => sendJson(response, { rows: rowsOf(1), next: { url: "https://evil.example/v3/x" } }),
      [[1, 2], "handler_failed", expect.stringContaining("another host")],
    ],
  ])("%s", async (_, call, make, expected) => {
    await using other = await startServer();
    answer = make(server.port);
    expect(await read(call)).toEqual(expected);
    expect(other.arrived).toEqual([]);
  });

  test("if a page has more bytes than a result may have", async () => {
    const large = [{ n: "x".repeat(100_000) }];
    answer = (url, response) => sendJson(response, pageIn(url) === 1 ? [{ n: 1 }] : large);
    await using runtime = await createRuntime({
      tools,
      sandbox: createMemorySandbox(),
      limits: { resultBytes: 10_000 },
      logger: { error: () => {} },
    });
    const { outcome } = await runtime.execute(
      `const seen = []; try { for await (const { n } of tools.api.${LABELS}) seen.push(n); } catch ({ code }) { seen.push(code); } return seen;`,
    );
    expect(outcome).toEqual({ type: "completed", value: [1, "result_too_large"] });
  });
});

test("a link back that differs by the host's key alone is one that was read already", async () => {
  const auth = { apiKey: { in: "query", name: "key", value: "the-secret" } } as const;
  await using own = await startServer((_, response) =>
    sendJson(response, [1], 200, linkTo(["/x?key=the-secret", "next"])),
  );
  const policy = { allowedCallers: ["direct"], paginate: { next: { link: true } } } as const;
  const source = await sourceOf(operationOf({}), { baseUrl: own.baseUrl, auth }, policy);
  expect(await callTool(source.tools, "api.call", {})).toMatchObject({
    message: expect.stringContaining("read already"),
  });
  expect(own.arrived.map(({ url }) => url)).toEqual(["/x?key=the-secret"]);
});

test("a number of a page begins with the default that the document gives", async () => {
  const own = await startServer((request, response) => sendJson(response, request.url.endsWith("=0") ? ["a"] : []));
  await using _ = own;
  const parameters = [{ name: "p", in: "query", required: true, schema: { type: "integer", default: 0 } }];
  const policy = { allowedCallers: ["direct"], paginate: { next: { page: "p" } } } as const;
  const source = await sourceOf(operationOf({ parameters }), { baseUrl: own.baseUrl }, policy);
  expect(await callTool(source.tools, "api.call", {})).toEqual({ ok: true, value: ["a"] });
  expect(own.arrived.map(({ url }) => url)).toEqual(["/x?p=0", "/x?p=1"]);
});
