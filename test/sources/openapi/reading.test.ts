import { describe, expect, test } from "vitest";
import type { OpenApiPolicies } from "../../../src/index.ts";
import { declareTools } from "../../../src/tools/declarations/declarations.ts";
import { jsonSchemaOf } from "../../../src/tools/tool-schemas.ts";
import { operationOf, sourceOf, specOf } from "./api-server.ts";

describe("a policy of pages that does not fit its operation", () => {
  const list = (schema: unknown) => ({
    parameters: [
      { name: "page", in: "query" },
      { name: "page_token", in: "header" },
    ],
    responses: { 200: { content: { "application/json": { schema } } } },
  });
  const rows = { type: "array", items: { type: "string" } };
  const all = { allowedCallers: ["direct"] } as const;

  test.each<readonly [string, object, object]>([
    [
      'with the parameter "cursor", which its query does not have',
      { next: { cursor: "/next", param: "cursor" } },
      list(rows),
    ],
    ['with the parameter "page_token", which its query does not have', { next: { page: "page_token" } }, list(rows)],
    ['this is of the type "object"', { next: { page: "page" } }, list({ type: "object", properties: { data: rows } })],
    [
      'a list at "/data", and its document that this is of the type "string"',
      { items: "/data", next: { page: "page" } },
      list({ type: "object", properties: { data: { type: "string" } } }),
    ],
  ])("is told: %s", async (reason, paginate, operation) => {
    const source = await sourceOf(operationOf(operation), {}, { ...all, paginate } as OpenApiPolicies);
    expect([source.tools, source.problems]).toEqual([[], [expect.stringContaining(reason)]]);
  });

  test("is told of an operation that may change something", async () => {
    const source = await sourceOf(
      operationOf(list(rows), "/x", "post"),
      {},
      { ...all, paginate: { next: { link: true } } },
    );
    expect(source.problems).toEqual([expect.stringContaining("is for operations of the method GET")]);
  });

  test("is refused where it is no policy", async () => {
    const policy = { ...all, paginate: { next: { cursor: "next" } } } as OpenApiPolicies;
    await expect(sourceOf(operationOf(list(rows)), {}, policy)).rejects.toMatchObject({
      code: "option_invalid",
      message: expect.stringContaining('policy of "api.call": { paginate }: expected { next, items? }'),
    });
  });

  test("has no pages with `stream: false`", async () => {
    const policy = { ...all, stream: false, paginate: { next: { page: "page" } } } as const;
    const source = await sourceOf(operationOf(list(rows)), {}, policy);
    expect(source.tools[0]).not.toHaveProperty("stream");
    expect(declareTools(source.tools)).toContain("page?");
  });

  test("finds the list in parts of a schema, however often these are shared", async () => {
    const part = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const schemas = {
      whole: { allOf: [part("none"), part("page")] },
      page: { type: "object", properties: { data: rows } },
      none: { type: "object" },
      shared: { allOf: Array.from({ length: 100 }, () => part("shared2")) },
      shared2: { allOf: Array.from({ length: 100 }, () => part("shared3")) },
      shared3: { allOf: Array.from({ length: 100 }, () => part("shared4")) },
      shared4: { allOf: Array.from({ length: 100 }, () => part("none")) },
    };
    const schemaOf = async (name: string) => {
      const spec = specOf({ "/x": { get: { operationId: "call", ...list(part(name)) } } }, { components: { schemas } });
      const paginate = { items: "/data", next: { link: true } } as const;
      const source = await sourceOf(spec, {}, { ...all, paginate });
      const { output } = source.tools[0] ?? expect.fail(source.problems.join());
      return output && jsonSchemaOf("api.call", "output", output);
    };
    expect(await schemaOf("whole")).toEqual({ type: "string" });
    expect(await schemaOf("none")).toBeUndefined();
    expect(await schemaOf("shared")).toBeUndefined();
  });
});
