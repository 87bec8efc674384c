import { describe, expect, test } from "vitest";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { listed } from "../../journal/journal-suite.ts";
import { failing } from "../../support/failing.ts";
import { jsonSchemaOf } from "../../../src/tools/tool-schemas.ts";
import { callTool, operationOf, sendJson, served, sourceOf, specOf, startServer } from "./api-server.ts";

const parameter = (name: string, place: string, more: object = {}) => ({ name, in: place, schema: {}, ...more });

const formOf = (properties: object) => {
  const encoding = { free: { style: "form" } };
  return { content: { "application/x-www-form-urlencoded": { encoding, schema: { type: "object", properties } } } };
};

describe("a request", () => {
  test("has the method that its operation stands under, in any case, and a path with a colon has the parameter", async () => {
    const methods = { query: { operationId: "search" }, additionalOperations: { PURGE: { operationId: "purge" } } };
    const upper = { GET: { operationId: "upper", parameters: [parameter("id", "path")] } };
    await using server = await served(specOf({ "/users/:id/x:id": upper, "/search": methods }));
    for (const name of ["upper", "search", "purge"])
      await callTool(server.tools, `api.${name}`, name === "upper" ? { id: "a" } : {});
    const arrived = server.arrived.map(({ method, url }) => `${method} ${url}`);
    expect([server.problems, arrived]).toEqual([[], ["GET /users/a/x:id", "QUERY /search", "PURGE /search"]]);
  });

  test.each<[string, string, object, object]>([
    ["of the path's query", "/x?action=list", { parameters: [parameter("free", "query")] }, { action: "delete" }],
    ["in another case", "/x?action=list", { parameters: [parameter("free", "query")] }, { "Action[]": "delete" }],
    ["of a parameter", "/x", { parameters: [parameter("free", "query"), parameter("role", "query")] }, { role: "a" }],
    ["of a form", "/x", { requestBody: formOf({ free: {}, role: { enum: ["user"] } }) }, { role: "admin" }],
  ])("is not made with an object that brings a part %s", async (_, path, of, free) => {
    await using server = await served(operationOf(of, path, "post"));
    const message = expect.stringContaining("another part of this name");
    expect(await server.call({ free })).toMatchObject({ ok: false, message });
    expect(server.arrived).toEqual([]);
  });

  test.each<[path: string, parameters: readonly object[], input: object, sent: string]>([
    ["/files/{id}#shared", [], { id: "a" }, "/files/a"],
    ["/#Action=List", [parameter("Action", "query")], { Action: "List" }, "/?Action=List"],
    ["/x?beta=true", [parameter("n", "query")], { n: 1 }, "/x?beta=true&n=1"],
    ["/x?beta=true&v", [parameter("beta", "query")], {}, "/x?beta=true&v"],
    ["/x?q={q}&to=a+b", [parameter("q", "query", { required: true })], { q: "a&b" }, "/x?to=a+b&q=a%26b"],
    ["/x?id={id}", [parameter("id", "path", { required: true })], { id: "a&b=c" }, "/x?id=a%26b%3Dc"],
    ["/x{?page,size}", [parameter("page", "query")], { page: 2 }, "/x?page=2"],
    ["/x?", [], {}, "/x"],
  ])("to the path %s of a document goes where its server has it", async (path, parameters, input, sent) => {
    await using server = await served(operationOf({ parameters }, path));
    expect([server.problems, await server.call(input)]).toMatchObject([[], { ok: true }]);
    expect(server.arrived.map(({ url }) => url)).toEqual([sent]);
  });

  test("stands behind baseUrl, whatever servers the document names", async () => {
    await using other = await startServer();
    const servers = [{ url: `${other.baseUrl}/evil` }];
    const spec = operationOf({ servers }, "/x", "get", { servers });
    await using server = await served(spec);
    await server.call({});
    expect(server.arrived.map(({ url }) => url)).toEqual(["/x"]);
    expect(other.arrived).toEqual([]);
  });

  test.each([
    ["a slash and dots", "a/../b"],
    ["two dots", ".."],
    ["one dot", "."],
    ["dots behind a backslash", "a\\..\\b"],
    ["nothing", ""],
  ])("is not sent with %s in its path", async (_, id) => {
    const spec = operationOf({ parameters: [parameter("id", "path")] }, "/users/{id}/keys");
    await using server = await served(spec);
    expect(await server.call({ id })).toMatchObject({ ok: false, ...failing("handler_failed", /^id must not/) });
    expect(server.arrived).toEqual([]);
  });

  test.each([
    "a/b",
    "//evil.example/",
    "a@b:80",
    "\\evil",
    "#x",
    "%2e%2e",
    "．．",
    "a\r\nhost: evil",
    "\u0000",
    "\ud800",
    "%",
    "main...feature",
    "\u202e",
  ])("keeps %j within one segment of its path", async (id) => {
    await using server = await startServer();
    const spec = operationOf({ parameters: [parameter("id", "path")] }, "/users/{id}/keys");
    const { tools } = await sourceOf(spec, { baseUrl: `${server.baseUrl}/base` });
    expect(await callTool(tools, "api.call", { id })).toMatchObject({ ok: true });
    const [{ url, headers } = expect.fail()] = server.arrived;
    const [, segment = ""] = /^\/base\/users\/([^/?#]+)\/keys$/.exec(url) ?? expect.fail(url);
    expect(decodeURIComponent(segment)).toBe(id.toWellFormed());
    expect(headers.host).toBe(`127.0.0.1:${server.port}`);
  });

  test("keeps names of fields that a program chooses within their parameter", async () => {
    const spec = operationOf(
      {
        parameters: [
          parameter("where", "path", { style: "matrix", explode: true }),
          parameter("filter", "query", { style: "deepObject", explode: true }),
          parameter("free", "query"),
          parameter("raw", "query", { allowReserved: true }),
        ],
      },
      "/x/{where}",
    );
    await using server = await served(spec);
    await server.call({
      where: { "a/b?c": "1/2" },
      filter: { "x]&admin[": "1&2" },
      free: { "a&admin": "1#" },
      raw: "a/b&admin=1#x+y[z]",
    });
    const [{ url } = expect.fail()] = server.arrived;
    expect(url).toBe(
      "/x/;a%2Fb%3Fc=1%2F2?filter[x%5D%26admin%5B]=1%262&a%26admin=1%23&raw=a/b%26admin=1%23x%2By%5Bz%5D",
    );
  });

  test.each([
    [{ a: { $eq: "x y" }, b: [1, { c: [true] }] }, "d[a][%24eq]=x%20y&d[b][0]=1&d[b][1][c][0]=true"],
    [["a", "b"], "d[0]=a&d[1]=b"],
    [{ a: null, b: {}, c: [] }, "d[a]="],
    [{ "]=&x[": { y: "&" } }, "d[%5D%3D%26x%5B][y]=%26"],
  ])("writes %j in brackets, in a query and in a form", async (d, sent) => {
    const style = { style: "deepObject", explode: true };
    const schema = { type: "object", properties: { d: {} } };
    const content = { "application/x-www-form-urlencoded": { schema, encoding: { d: style } } };
    const spec = specOf({
      "/q": { get: { operationId: "asked", parameters: [parameter("d", "query", style)] } },
      "/f": { post: { operationId: "form", requestBody: { content } } },
    });
    await using server = await served(spec);
    await callTool(server.tools, "api.asked", { d });
    await callTool(server.tools, "api.form", { d });
    expect(server.arrived.map(({ url, body }) => url.slice(3) + body.toString())).toEqual([sent, sent]);
  });

  /** As the table of styles in OpenAPI 3.1.1 and RFC 6570 have them. */
  test.each<readonly [style: string, explode: boolean, list: string, object: string]>([
    ["path simple", true, "a%20b,c%2Cd,1", "R=100,G%20h=x%26y"],
    ["path simple", false, "a%20b,c%2Cd,1", "R,100,G%20h,x%26y"],
    ["path label", true, ".a%20b.c%2Cd.1", ".R=100.G%20h=x%26y"],
    ["path label", false, ".a%20b,c%2Cd,1", ".R,100,G%20h,x%26y"],
    ["path matrix", true, ";color=a%20b;color=c%2Cd;color=1", ";R=100;G%20h=x%26y"],
    ["path matrix", false, ";color=a%20b,c%2Cd,1", ";color=R,100,G%20h,x%26y"],
    ["query form", true, "color=a%20b&color=c%2Cd&color=1", "R=100&G%20h=x%26y"],
    ["query form", false, "color=a%20b,c%2Cd,1", "color=R,100,G%20h,x%26y"],
    ["query spaceDelimited", true, "color=a%20b&color=c%2Cd&color=1", "color=R%20100%20G%20h%20x%26y"],
    ["query spaceDelimited", false, "color=a%20b%20c%2Cd%201", "color=R%20100%20G%20h%20x%26y"],
    ["query pipeDelimited", true, "color=a%20b&color=c%2Cd&color=1", "color=R|100|G%20h|x%26y"],
    ["query pipeDelimited", false, "color=a%20b|c%2Cd|1", "color=R|100|G%20h|x%26y"],
    ["header simple", true, "a b,c,d,1", "R=100,G h=x&y"],
    ["header simple", false, "a b,c,d,1", "R,100,G h,x&y"],
    ["cookie form", true, "color=a%20b,c%2Cd,1", "color=R,100,G%20h,x%26y"],
    ["cookie form", false, "color=a%20b,c%2Cd,1", "color=R,100,G%20h,x%26y"],
  ])("writes a list and an object in a %s, explode=%s", async (written, explode, list, object) => {
    const [place = "", style] = written.split(" ");
    const parameters = [parameter("color", place, { required: true, style, explode })];
    const spec = operationOf({ parameters }, place === "path" ? "/x/{color}" : "/x");
    await using server = await served(spec);
    for (const color of [["a b", "c,d", 1], { R: 100, "G h": "x&y" }]) await server.call({ color });
    const sent = server.arrived.map(({ url, headers }) => headers.color ?? headers.cookie ?? url.slice("/x/".length));
    expect(sent).toEqual([list, object]);
  });

  test("has no object in brackets whose names, each with each value, would be gigabytes", async () => {
    const parameters = [parameter("d", "query", { style: "deepObject" })];
    const { tools } = await sourceOf(operationOf({ parameters }));
    const d = { ["k".repeat(50_000)]: Array.from({ length: 30_000 }, () => 1) };
    expect(await callTool(tools, "api.call", { d })).toMatchObject({
      message: "d is too large to be sent with each value under its whole name.",
    });
  });

  test("carries no header that a program may not set, and none with a line break", async () => {
    const names = ["Host", "X-Forwarded-Host", "Authorization", "X-HTTP-Method-Override", "X-Own"];
    const parameters = names.map((name) => parameter(name, "header"));
    await using server = await served(operationOf({ parameters }));
    const { properties } = jsonSchemaOf("api.call", "input", server.tools[0]!.inputSchema);
    expect(Object.keys(properties as object)).toEqual(["X-Own"]);
    expect(await server.call({ "X-Own": "a\r\nX-Evil: b" })).toMatchObject({ code: "handler_failed" });
    expect(await server.call({ "X-Own": "日本" })).toMatchObject({ code: "handler_failed" });
    expect(server.arrived).toEqual([]);
  });

  test.each([
    ["plain JSON", ["application/json-patch+json", "text/json", "application/json; charset=utf-8"], 2],
    ["a merge patch", ["application/json-patch+json", "application/merge-patch+json", "application/a+json"], 1],
    ["the only JSON", ["text/plain", "application/json-patch+json"], 1],
  ])("is sent as %s", async (_, mediaTypes, chosen) => {
    const content = Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema: { type: "object" } }]));
    await using server = await served(operationOf({ requestBody: { content } }, "/x", "patch"));
    await server.call({ body: {} });
    expect(server.arrived).toMatchObject([{ headers: { "content-type": mediaTypes[chosen] } }]);
  });

  test("writes forms, text and bytes", async () => {
    const body = (mediaType: string, schema: object, encoding?: object) => ({
      requestBody: { required: true, content: { [mediaType]: { schema, ...(encoding ? { encoding } : {}) } } },
    });
    const fields = { type: "object", properties: { name: {}, ids: { type: "array" }, where: {} } };
    const spec = specOf({
      "/form": {
        post: {
          operationId: "form",
          ...body("application/x-www-form-urlencoded", fields, { where: { style: "deepObject" } }),
        },
      },
      "/text": { post: { operationId: "text", ...body("text/plain", { type: "string" }) } },
      "/bytes": { post: { operationId: "bytes", ...body("application/octet-stream", { type: "string" }) } },
    });
    await using server = await served(spec);
    await callTool(server.tools, "api.form", { body: { name: "a&b=c", ids: [1, "x y"], where: { a: 1 } } });
    await callTool(server.tools, "api.form", { body: { name: null, ids: [null], where: null } });
    await callTool(server.tools, "api.text", { body: "é" });
    await callTool(server.tools, "api.bytes", { body: Buffer.from([1, 0, 255]).toString("base64") });
    const [form, empty, text, bytes] = server.arrived;
    expect(form?.body.toString()).toBe("name=a%26b%3Dc&ids=1&ids=x%20y&where[a]=1");
    expect(empty?.body.toString()).toBe("ids=");
    expect([text?.headers["content-type"], text?.body.toString()]).toEqual(["text/plain", "é"]);
    expect([...bytes!.body]).toEqual([1, 0, 255]);
    expect(await callTool(server.tools, "api.bytes", { body: "not base64!" })).toMatchObject({
      message: "body must be text in base64.",
    });
  });
});

const bytes = { type: "string", format: "binary" };
const properties = { file: bytes };
const FILE = "#/components/schemas/File";

test.each<[string, object, object?]>([
  ["null aside", { type: "object", properties: { file: { anyOf: [bytes, { type: "null" }] } } }],
  ["of a list or one", { type: "object", properties: { file: { oneOf: [bytes, { type: "array", items: bytes }] } } }],
  ["said by a part of it", { type: "object", properties: { file: { allOf: [bytes] } } }],
  ["behind a reference", { type: "object", properties: { file: { anyOf: [{ $ref: FILE }, { type: "null" }] } } }],
  ["by contentEncoding", { type: "object", properties: { file: { type: "string", contentEncoding: "binary" } } }],
  ["by its media type", { type: "object", properties: { file: { type: "string", contentMediaType: "image/png" } } }],
  ["by its encoding", { type: "object", properties: { file: {} } }, { file: { contentType: "image/png" } }],
  ["in a part of the form", { allOf: [{ type: "object", properties }, { type: "object" }] }],
  ["beside other fields", { type: "object", properties, additionalProperties: true }],
])("a field of a form is sent as a file, %s", async (_, schema, encoding) => {
  const requestBody = { required: true, content: { "multipart/form-data": { schema, encoding } } };
  const spec = operationOf({ requestBody }, "/x", "post", { components: { schemas: { File: bytes } } });
  await using server = await served(spec);
  const { required = [] } = jsonSchemaOf("api.call", "input", server.tools[0]!.inputSchema) as {
    readonly required?: string[];
  };
  const input = { file: Buffer.from([0, 255]).toString("base64") };
  await server.call(required.includes("body") ? { body: input } : input);
  const [upload] = server.arrived;
  const type = upload!.headers["content-type"]!;
  const form = await new Response(new Uint8Array(upload!.body), { headers: { "content-type": type } }).formData();
  const file = form.get("file") as File;
  expect([...new Uint8Array(await file.arrayBuffer())]).toEqual([0, 255]);
  expect(file.type).toBe(encoding ? "image/png" : "application/octet-stream");
});

test("a file without a type is text, also where a body has a field of its own", async () => {
  const form = {
    schema: { type: "object", properties: { file: {} } },
    encoding: { file: { contentType: "image/png" } },
  };
  const bodyOf = (content: object) => ({ requestBody: { required: true, content } });
  const list = { "application/json": { schema: { type: "array" } } };
  const call = { post: { operationId: "call", ...bodyOf({ "multipart/form-data": form }) } };
  await using server = await served(specOf({ "/x": call, "/list": { post: bodyOf(list) } }));
  expect(await server.call({ body: { file: { a: 1 } } })).toMatchObject({ code: "input_invalid" });
  expect(await server.call({ body: { file: "AP8=" } })).toMatchObject({ ok: true });
});

describe("credentials", () => {
  test.each([
    ["bearer", { bearer: "secret-token" }, { authorization: "Bearer secret-token" }, "/x"],
    ["bearer by a function", { bearer: async () => "fresh-token" }, { authorization: "Bearer fresh-token" }, "/x"],
    ["basic", { basic: { username: "u", password: () => "pass" } }, { authorization: `Basic ${btoa("u:pass")}` }, "/x"],
    ["a header", { apiKey: { in: "header", name: "X-Key", value: "key-value" } }, { "x-key": "key-value" }, "/x"],
    ["a query", { apiKey: { in: "query", name: "api_key", value: "k&v" } }, {}, "/x?api_key=k%26v"],
    ["a cookie", { apiKey: { in: "cookie", name: "sid", value: "key;value" } }, { cookie: "sid=key%3Bvalue" }, "/x"],
  ] as const)("leave as %s", async (_, auth, headers, url) => {
    await using server = await served(operationOf({}), { auth });
    expect(await server.call({})).toMatchObject({ ok: true });
    expect(server.arrived).toMatchObject([{ headers, url }]);
  });

  test("are asked for anew with each request", async () => {
    let number = 0;
    const auth = { bearer: () => `token-${(number += 1)}` };
    await using server = await served(operationOf({}), { auth });
    await server.call({});
    await server.call({});
    expect(server.arrived.map(({ headers }) => headers.authorization)).toEqual(["Bearer token-1", "Bearer token-2"]);
  });

  test("are no field of the input, and no input replaces them", async () => {
    const spec = operationOf({
      parameters: [
        parameter("api_key", "query"),
        parameter("free", "query", { explode: true }),
        parameter("q", "query"),
      ],
    });
    const auth = { apiKey: { in: "query", name: "api_key", value: "the-secret" } } as const;
    await using server = await served(spec, { auth, headers: { "X-Version": "2" } });
    expect(JSON.stringify(jsonSchemaOf("api.call", "input", server.tools[0]!.inputSchema))).not.toContain("api_key");
    expect(await server.call({ api_key: "mine" })).toMatchObject({ code: "input_invalid" });
    await server.call({ free: { api_key: "mine", other: 1 }, q: "x" });
    const [{ url, headers } = expect.fail()] = server.arrived;
    expect([...new URL(url, server.baseUrl).searchParams]).toEqual([
      ["other", "1"],
      ["q", "x"],
      ["api_key", "the-secret"],
    ]);
    expect(headers["x-version"]).toBe("2");
  });

  test("are headers by name, or of a function; the value of any other header stays in results as the server wrote it", async () => {
    const sent = {
      "X-GitHub-Api-Version": "2022-11-28",
      "X-Account": "1000",
      "Accept-Language": "en-US",
      "X-Api-Token": "token-0123",
      "X-Rotated": () => "rotated-0123",
    };
    const issues = [
      { id: 51_000, created_at: "2022-11-28T09:30:00Z", "2022-11-28": 1, "en-US": 2 },
      { id: 2, said: "token-0123, rotated-0123" },
    ];
    await using server = await served(operationOf({}), (_, response) => sendJson(response, issues), { headers: sent });
    expect(await server.call({})).toEqual({
      ok: true,
      value: [issues[0], { id: 2, said: "[secret], [secret]" }],
    });
  });

  test("are left in results if they are as short as a word of any data", async () => {
    const value = { role: "admin", year: "2024", last: "latest" };
    await using server = await startServer((_, response) => sendJson(response, value));
    for (const password of ["admin", "2024", "test"]) {
      const auth = { basic: { username: "u", password } };
      const { tools } = await sourceOf(operationOf({}), { baseUrl: server.baseUrl, auth });
      expect(await callTool(tools, "api.call", {})).toEqual({ ok: true, value });
    }
  });

  test("are in no journal, result, failure or entry of the log, also where a server repeats them", async () => {
    const secrets = ['s3cr3t-t"ken', "other-secret-value"] as const;
    const spec = specOf({ "/ok": { get: { operationId: "ok" } }, "/fail": { get: { operationId: "fail" } } });
    await using server = await served(
      spec,
      (request, response) => {
        const said = { got: request.headers.authorization, key: request.headers["x-key"], url: request.url };
        sendJson(response, said, request.url.startsWith("/fail") ? 422 : 200, { "x-echo": "1" });
      },
      { auth: { bearer: secrets[0] }, headers: { "X-Key": secrets[1] } },
    );
    const journal = createMemoryJournal();
    const errors: unknown[] = [];
    const answers = [
      await callTool(server.tools, "api.ok", {}, { journal, errors }),
      await callTool(server.tools, "api.fail", {}, { journal, errors }),
    ];
    expect(answers).toMatchObject([
      { ok: true, value: { got: "Bearer [secret]", key: "[secret]" } },
      {
        ok: false,
        code: "handler_failed",
        message: expect.stringMatching(/422 .*: \{"got":"Bearer \[secret\]"/),
      },
    ]);
    const records = (await listed(journal)).map(({ execution }) => Array.fromAsync(journal.read(execution)));
    const everything = JSON.stringify([
      answers,
      await Promise.all(records),
      errors,
      server.tools,
      errors.map((one) => String((one as { err: Error }).err.stack)),
    ]);
    for (const secret of ["s3cr3t", secrets[1]]) expect(everything).not.toContain(secret);
  });

  test.each([
    ["that throw", () => Promise.reject(new Error("the vault at /etc/vault is sealed"))],
    ["that give nothing", () => ""],
    ["that give line breaks", () => "a\r\nb"],
  ])("of functions %s fail the call, and the cause stays with the operator", async (_, bearer) => {
    const errors: unknown[] = [];
    await using server = await served(operationOf({}), { auth: { bearer } });
    expect(await server.call({}, { errors })).toMatchObject({ code: "source_unavailable" });
    expect(errors).toMatchObject([{ err: { cause: expect.any(Error) } }]);
    expect(server.arrived).toEqual([]);
  });
});
