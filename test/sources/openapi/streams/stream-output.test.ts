import { describe, expect, test } from "vitest";
import { jsonSchemaOf } from "../../../../src/tools/tool-schemas.ts";
import { ALL, callTool, operationOf, sourceOf, specOf, startServer } from "../api-server.ts";

const LINES = "application/x-ndjson";
const EVENTS = "text/event-stream";
const row = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };

const streaming = (mediaType: string, media: object = {}) => ({
  responses: { 200: { content: { [mediaType]: media } } },
});

const answering = (mediaType: string, text: string) =>
  startServer((_, response) => response.writeHead(200, { "content-type": mediaType }).end(text));

describe("which operations are streams follows from the document and the policy", () => {
  const both = { responses: { 200: { content: { "application/json": {}, [EVENTS]: {} } } } };
  test.each<readonly [string, object, object, string | undefined]>([
    ["lines alone", streaming(LINES), {}, LINES],
    ["JSON too", both, {}, undefined],
    [
      "JSON of another status too",
      { responses: { 200: { content: { [LINES]: {} } }, 202: { content: { "application/json": {} } } } },
      {},
      undefined,
    ],
    ["a status without content too", { responses: { 200: { content: { [LINES]: {} } }, 204: {} } }, {}, LINES],
    ["text", streaming("text/plain"), {}, undefined],
    ["JSON too, and a policy that says so", both, { stream: true }, EVENTS],
    ["lines, and a policy that says no", streaming(LINES), { stream: false }, undefined],
  ])("%s", async (_, operation, policy, accept) => {
    await using server = await answering(accept ?? "text/plain", "");
    const { tools } = await sourceOf(operationOf(operation), { baseUrl: server.baseUrl }, { ...ALL, ...policy });
    expect(tools.map(({ stream = false }) => stream)).toEqual([accept !== undefined]);
    await callTool(tools, "api.call", {});
    if (accept !== undefined) expect(server.arrived).toMatchObject([{ headers: { accept } }]);
  });

  test("a policy's shape makes the result of what the API answers, whose own schema then does not hold", async () => {
    await using server = await answering("application/json", '[{"n":1},{"n":2}]');
    const json = { responses: { 200: { content: { "application/json": { schema: { type: "array", items: row } } } } } };
    const shape = (rows: readonly { readonly n: number }[]) => rows.length;
    const { tools } = await sourceOf(operationOf(json), { baseUrl: server.baseUrl }, { ...ALL, shape });
    expect(tools.map(({ output }) => output)).toEqual([undefined]);
    expect(await callTool(tools, "api.call", {})).toEqual({ ok: true, value: 2 });
  });

  test("a policy that says no makes a text of it", async () => {
    await using server = await answering(LINES, "1\n2\n");
    const { tools } = await sourceOf(
      operationOf(streaming(LINES)),
      { baseUrl: server.baseUrl },
      { ...ALL, stream: false },
    );
    expect(await callTool(tools, "api.call", {})).toEqual({ ok: true, value: "1\n2\n" });
  });

  test.each<readonly [string, object, object]>([
    ["its policy says `stream`, and none", streaming("application/json"), { stream: true }],
    ["`shape` is of one result: leave it out of its policy", streaming(LINES), { shape: () => 1 }],
    ["leave `retry` out of its policy", streaming(LINES), { retry: { attempts: 2 } }],
  ])("what does not fit is left out, and the reason told: %s", async (reason, operation, policy) => {
    const { tools, problems } = await sourceOf(operationOf(operation), {}, { ...ALL, ...policy });
    expect([tools, problems]).toEqual([[], [expect.stringContaining(reason)]]);
  });
});

describe("the schema of an item", () => {
  const data = (schema: unknown) => ({ type: "string", contentMediaType: "application/json", contentSchema: schema });
  const event = (fields: object, required = ["data"]) => ({ type: "object", properties: fields, required });
  const text = { type: "string" };

  test.each<readonly [string, string, object, unknown]>([
    ["what itemSchema says", LINES, { itemSchema: row, schema: { type: "array" } }, row],
    ["what the schema says", LINES, { schema: row }, row],
    ["unknown for a list", LINES, { schema: { type: "array", items: row } }, undefined],
    ["unknown for text", LINES, { schema: { type: "string", format: "binary" } }, undefined],
    ["unknown if nothing is said", LINES, {}, undefined],
    [
      "of events the data, or a text",
      EVENTS,
      { schema: row },
      event({ event: text, id: text, data: { anyOf: [row, text] } }),
    ],
    ["of events of which nothing is said", EVENTS, { schema: text }, event({ event: text, id: text, data: true })],
    [
      "of events whose data hold JSON",
      EVENTS,
      { itemSchema: event({ data: data(row) }) },
      event({ event: text, id: text, data: row }),
    ],
    [
      "of events whose data are a text, which may be JSON",
      EVENTS,
      { itemSchema: event({ data: text }) },
      event({ event: text, id: text, data: true }),
    ],
    [
      "of events that the schema describes",
      EVENTS,
      { schema: event({ data: row, event: text }) },
      event({ event: text, id: text, data: row }),
    ],
    [
      "of kinds of events",
      EVENTS,
      {
        itemSchema: {
          required: ["event"],
          oneOf: [
            { properties: { event: { const: "add" }, data: data(row) } },
            { properties: { event: { enum: ["end", "stop"] } } },
          ],
        },
      },
      {
        anyOf: [
          event({ event: { type: "string", enum: ["add"] }, id: text, data: row }, ["event", "data"]),
          event({ event: { type: "string", enum: ["end", "stop"] }, id: text, data: true }, ["event", "data"]),
        ],
      },
    ],
  ])("is %s", async (_, mediaType, media, expected) => {
    const { tools } = await sourceOf(operationOf(streaming(mediaType, media)));
    const { output } = tools[0] ?? expect.fail();
    expect(output && jsonSchemaOf("api.call", "output", output)).toEqual(expected);
  });

  test("of a list is that of its items since OpenAPI 3.2, whose documents may refer to media types", async () => {
    const list = { schema: { type: "array", items: row } };
    const content = { [LINES]: { $ref: "#/components/mediaTypes/rows" } };
    const spec = specOf(
      { "/x": { get: { operationId: "call", responses: { 200: { content } } } } },
      { openapi: "3.2.0", components: { mediaTypes: { rows: list } } },
    );
    const { tools } = await sourceOf(spec);
    expect(jsonSchemaOf("api.call", "output", tools[0]?.output ?? expect.fail())).toEqual(row);
  });
});
