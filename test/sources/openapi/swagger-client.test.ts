import { afterAll, describe, expect, test } from "vitest";
import { readData } from "../../../examples/read-data.ts";
import { createRuntime, fromOpenApi, type JsonSchema } from "../../../src/index.ts";
import { resolveReference } from "../../../src/tools/json-schema/json-schema.ts";
import { jsonSchemaOf } from "../../../src/tools/tool-schemas.ts";
import { createMemorySandbox } from "../../../src/testing.ts";
import { ALL, type Arrived, operationOf, sourceOf, startServer } from "./api-server.ts";
import { ALL_TESTS, testOfAll } from "../../support/all-tests.ts";
import { Recording } from "../../support/recording.ts";

/** Requests of the library's own client, by the options that it was given. */
const recording = new Recording<Omit<Arrived, "body"> & { readonly body: string }>("swagger-client");
afterAll(() => recording.write());

async function sentBySwaggerClient(options: object): Promise<Arrived> {
  const { body, ...sent } = await recording.answer(options, async (require) => {
    const { execute } = require("swagger-client/lib/execute/index.js") as {
      readonly execute: (options: object) => Promise<unknown>;
    };
    await using server = await startServer();
    await execute({ ...options, baseURL: `${server.baseUrl}${BASE}` }).catch(() => {});
    const [{ method, url, headers, body } = expect.fail("swagger-client sent nothing")] = server.arrived;
    const { host: _, ...kept } = headers;
    return { method, url, headers: kept, body: body.toString() };
  });
  return { ...sent, body: Buffer.from(body) };
}

/** Path of the API on its server. */
const BASE = "/api/v3";

/** What of a request has to be the same, however it is written. */
function essence({ method, url, headers, body }: Arrived, ownHeaders: readonly string[]) {
  const { pathname, searchParams } = new URL(url, "http://host");
  const isJson = headers["content-type"]?.includes("json") === true;
  return {
    method,
    pathname,
    query: [...searchParams].toSorted(([a, x], [b, y]) => (a + x < b + y ? -1 : 1)),
    contentType: headers["content-type"]?.split(";", 1)[0],
    headers: ownHeaders.map((name) => headers[name.toLowerCase()]),
    body: isJson ? parsedIfJson(body.toString()) : body.toString(),
  };
}

/** The library sends a text in place of a JSON body as it is, without quotation marks. */
function parsedIfJson(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return body;
  }
}

// ---- values that fit a schema ----------------------------------------------------------------------------------

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "2026-01-02T03:04:05Z",
  date: "2026-01-02",
  uri: "https://example.com/a?b=c&d",
  email: "a+b@example.com",
};

/** A value of a schema, as large as its depth allows; undefined where none is found easily. */
function valueOf(root: JsonSchema, schema: unknown, depth = 0): unknown {
  if (typeof schema !== "object" || schema === null) return "any";
  const one = schema as JsonSchema;
  if (typeof one.$ref === "string")
    return depth > 4 ? undefined : valueOf(root, resolveReference(root, one.$ref), depth + 1);
  if (Array.isArray(one.enum)) return one.enum.at(-1);
  const choice = [one.anyOf, one.allOf].flat().find((part) => part !== undefined);
  if (choice !== undefined && one.type === undefined) return valueOf(root, choice, depth + 1);
  switch ([one.type].flat().find((type) => type !== "null")) {
    case "integer":
    case "number":
      return one.minimum ?? 7;
    case "boolean":
      return false;
    case "array": {
      const item = depth > 4 ? undefined : valueOf(root, one.items ?? {}, depth + 1);
      return item === undefined
        ? []
        : [item, item].slice(0, one.uniqueItems === true ? 1 : ((one.maxItems as number | undefined) ?? 2));
    }
    case "object": {
      const alternative = one.anyOf === undefined ? {} : valueOf(root, (one.anyOf as readonly unknown[])[0], depth + 1);
      const required = new Set(one.required as readonly string[] | undefined);
      const fields = Object.entries(one.properties ?? {})
        .filter(([name]) => depth < 3 || required.has(name))
        .map(([name, field]) => [name, valueOf(root, field, depth + 1)] as const);
      return { ...(alternative as object), ...Object.fromEntries(fields.filter(([, value]) => value !== undefined)) };
    }
    default: {
      const text = FORMATS[String(one.format)] ?? "it's (a) b/ü&c=d+e%20*;!";
      return text
        .slice(0, (one.maxLength as number | undefined) ?? 99)
        .padEnd((one.minLength as number | undefined) ?? 0, "x");
    }
  }
}

// ---- operations of GitHub --------------------------------------------------------------------------------------

interface GitHub {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>;
}

const document = readData(new URL("../../../examples/operations/api.github.com.json.br", import.meta.url)) as GitHub;

const operationAt = (path: string, method: string) => document.paths[path]?.[method] ?? expect.fail();

/** The library wants a document without references: one of the operation alone, whose schemas it does not need. */
function alone(path: string, method: string): object {
  const { operationId, parameters = [], requestBody } = operationAt(path, method);
  const followed = (part: unknown): Readonly<Record<string, unknown>> => {
    const { $ref } = part as { readonly $ref?: string };
    return $ref === undefined
      ? (part as JsonSchema)
      : followed(resolveReference(document as unknown as JsonSchema, $ref));
  };
  const resolved = (parameters as readonly unknown[]).map((part) => {
    const parameter = followed(part);
    return { ...parameter, schema: followed(parameter.schema ?? {}) };
  });
  return {
    ...operationOf(
      { operationId, parameters: resolved, ...(requestBody ? { requestBody: followed(requestBody) } : {}) },
      path,
      method,
    ),
  };
}

/** Of the operations, one in so many is compared, to meet all parts of the API. */
const STEP = ALL_TESTS ? 19 : 57;

testOfAll("operations of GitHub are requested as swagger-client requests them", { timeout: 120_000 }, async () => {
  await using server = await startServer((_, response) => response.writeHead(204).end());
  const { tools } = await fromOpenApi(
    { name: "github", spec: document, baseUrl: `${server.baseUrl}${BASE}` },
    (_, { method, path }) => ({
      ...ALL,
      name: `${method.toLowerCase()}${path.replaceAll(/\W/g, "_")}`,
    }),
  );
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ path, method })),
  );
  await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox(), logger: { error: () => {} } });
  let compared = 0;
  let [bodies, queries] = [0, 0];
  const refused: string[] = [];
  for (const { path, method } of operations.filter((_, index) => index % STEP === 3)) {
    const tool =
      byName.get(`github.${method}${path.replaceAll(/\W/g, "_")}`) ?? expect.fail(`no tool for ${method} ${path}`);
    const schema = jsonSchemaOf(tool.name, "input", tool.input);
    const input = valueOf(schema, schema) as Readonly<Record<string, unknown>>;
    server.arrived.length = 0;
    const answer = await runtime.call({ tool: tool.name, input, caller: "direct" });
    const [ours] = server.arrived;
    if (!ours) {
      refused.push(`${tool.name}: ${answer.ok ? "" : answer.message}`);
      continue;
    }
    const spec = alone(path, method);
    const { body, ...parameters } = input;
    const theirs = await sentBySwaggerClient({
      spec,
      pathName: path,
      method,
      operationId: operationAt(path, method).operationId,
      parameters,
      requestBody: body,
    });
    expect(essence(ours, []), `${method} ${path}`).toEqual(essence(theirs, []));
    compared += 1;
    bodies += ours.body.length > 0 ? 1 : 0;
    queries += ours.url.includes("?") ? 1 : 0;
  }
  expect(compared).toBeGreaterThanOrEqual(ALL_TESTS ? 60 : 18);
  process.stdout.write(
    `${compared} requests compared, ${bodies} with a body, ${queries} with a query; for ${refused.length} no input was found\n`,
  );
});

// ---- styles ----------------------------------------------------------------------------------------------------

const VALUES = {
  text: "a b/ü&c",
  number: 0,
  false: false,
  list: ["a b", "c,d", 1],
  object: { R: 100, "G h": "x&y" },
  nested: { a: { b: [1] } },
};

/**
 * Where requests differ from swagger-client's on purpose. Without explode, labels are joined by commas, as in RFC 6570 and
 * since OpenAPI 3.0.4. Objects are delimited as in the table of OpenAPI 3.1.1. A cookie has one value. What
 * is deep in a `deepObject` is in brackets.
 */
const DIFFERENCES: Readonly<Record<string, string>> = {
  "label false list": ".a b,c,d,1",
  "label false object": ".R,100,G h,x&y",
  "label false nested": '.a,{"b":[1]}',
  "spaceDelimited true object": "R 100 G h x&y",
  "spaceDelimited true nested": 'a {"b":[1]}',
  "spaceDelimited false object": "R 100 G h x&y",
  "spaceDelimited false nested": 'a {"b":[1]}',
  "pipeDelimited true object": "R|100|G h|x&y",
  "pipeDelimited true nested": 'a|{"b":[1]}',
  "pipeDelimited false object": "R|100|G h|x&y",
  "pipeDelimited false nested": 'a|{"b":[1]}',
  "deepObject true list": "a b",
  "deepObject false list": "a b",
  "deepObject true nested": "1",
  "deepObject false nested": "1",
  "cookie form true list": "a b,c,d,1",
  "cookie form true object": "R,100,G h,x&y",
  "cookie form true nested": 'a,{"b":[1]}',
};

describe("a parameter is written as swagger-client writes it", () => {
  const cases = (
    [
      ["path", ["simple", "label", "matrix"]],
      ["query", ["form", "spaceDelimited", "pipeDelimited", "deepObject"]],
      ["header", ["simple"]],
      ["cookie", ["form"]],
    ] as const
  ).flatMap(([place, styles]) =>
    styles.flatMap((style) =>
      [true, false].flatMap((explode) =>
        Object.entries(VALUES).map(([kind, value]) => ({ place, style, explode, kind, value })),
      ),
    ),
  );

  test.each(cases)("$place $style explode=$explode: $kind", async ({ place, style, explode, kind, value }) => {
    await using server = await startServer();
    const parameters = [{ name: "color", in: place, required: true, style, explode, schema: {} }];
    const path = place === "path" ? "/x/{color}" : "/x";
    const spec = operationOf({ parameters }, path);
    const { tools } = await sourceOf(spec, { baseUrl: `${server.baseUrl}${BASE}` });
    await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox(), logger: { error: () => {} } });
    const answer = await runtime.call({ tool: "api.call", input: { color: value }, caller: "direct" });
    const sent = await sentBySwaggerClient({
      spec,
      operationId: "call",
      parameters: { color: value },
    });
    const [ours, theirs] = [...server.arrived, sent].map((one) => {
      const { pathname, query } = essence(one, []);
      const cookie = decodeURIComponent(one.headers.cookie ?? "");
      return { path: decodeURIComponent(pathname), query, header: one.headers.color, cookie };
    });
    expect([server.arrived.length, answer]).toEqual([1, { ok: true, value: { ok: true } }]);
    const own = Object.entries(DIFFERENCES).find(([key]) =>
      `${place} ${style} ${String(explode)} ${kind}`.endsWith(key),
    )?.[1];
    if (own === undefined) expect(ours).toEqual(theirs);
    else expect([ours?.path.slice(`${BASE}/x/`.length), ours?.query[0]?.[1], ours?.cookie.slice(6)]).toContain(own);
  });
});

test("no value of a program is read again as JSON, as swagger-client reads texts for lists", async () => {
  await using server = await startServer();
  const parameters = [{ name: "ids", in: "query", schema: { type: ["array", "string"], items: { type: "string" } } }];
  const spec = operationOf({ parameters });
  const { tools } = await sourceOf(spec, { baseUrl: `${server.baseUrl}${BASE}` });
  await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox(), logger: { error: () => {} } });
  await runtime.call({ tool: "api.call", input: { ids: '["a","b"]' }, caller: "direct" });
  const sent = await sentBySwaggerClient({
    spec,
    operationId: "call",
    parameters: { ids: '["a","b"]' },
  });
  expect([...server.arrived, sent].map(({ url }) => decodeURIComponent(url))).toEqual([
    '/api/v3/x?ids=["a","b"]',
    "/api/v3/x?ids=a&ids=b",
  ]);
});
