import { validate } from "@scalar/openapi-parser";
import { expect, test } from "vitest";
import { HTTP_EVENTS } from "../../../src/serve/api/event-shapes.ts";
import { pathOf } from "../../../src/serve/api/openapi.ts";
import { ROUTES } from "../../../src/serve/api/routes.ts";
import { resolveReference } from "../../../src/tools/json-schema/json-schema.ts";
import { openServer } from "../servers.ts";

test("the document has each route with its statuses, and each schema in it can be read", async () => {
  await using door = await openServer();
  const { json, status } = await door.ask("GET", "/openapi.json");
  expect(status).toBe(200);
  const found = Object.entries(json.paths).flatMap(([path, operations]) =>
    Object.entries(operations as object).map(([method, operation]) => [
      `${method.toUpperCase()} ${path}`,
      Object.keys(operation.responses),
    ]),
  );
  const expected = ROUTES.map((line) => [
    `${line.method} ${pathOf(line.path)}`,
    [...Object.keys(line.answers), "default"],
  ]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  const ids = Object.values(json.paths).flatMap((operations) =>
    Object.values(operations as object).map(({ operationId }) => operationId),
  );
  expect(new Set(ids).size).toBe(ids.length);
});

test("a generator of clients can read it: it is valid, and each reference leads somewhere", async () => {
  await using door = await openServer();
  const { json, text } = await door.ask("GET", "/openapi.json");
  expect((await validate(json)).errors ?? []).toEqual([]);
  const references = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference = ""]) => reference));
  expect(references.size).toBeGreaterThan(5);
  for (const reference of references) expect(resolveReference(json, reference), reference).toBeTypeOf("object");
  expect(text).not.toMatch(/__schema|__shared|\$defs|\$id/);
  const told = json.components.schemas.Event.anyOf.map(
    (event: { readonly properties: { readonly type: { readonly const: string } } }) => event.properties.type.const,
  );
  expect(told).toEqual(Object.keys(HTTP_EVENTS));
});
