import { validate } from "@scalar/openapi-parser";
import { expect, test } from "vitest";
import type { z } from "zod";
import { PROBLEM } from "../../../src/serve/api/answers.ts";
import { HTTP_EVENTS } from "../../../src/serve/api/event-shapes.ts";
import { pathOf, problemsOf } from "../../../src/serve/api/openapi.ts";
import { ROUTES } from "../../../src/serve/api/routes.ts";
import { resolveReference } from "../../../src/tools/json-schema/json-schema.ts";
import { keyOf, openServer } from "../servers.ts";
import { z as zod } from "zod";

test("the document has each route with its statuses, and each schema in it can be read", async () => {
  await using door = await openServer();
  const { json, status } = await door.ask("GET", "/openapi.json");
  expect(status).toBe(200);
  const found = Object.entries(json.paths).flatMap(([path, operations]) =>
    Object.entries(operations as object).map(([method, operation]) => [
      `${method.toUpperCase()} ${path}`,
      Object.keys(operation.responses).map(Number),
    ]),
  );
  const expected = ROUTES.map((line) => [
    `${line.method} ${pathOf(line.path)}`,
    [...new Set([...Object.keys(line.answers).map(Number), ...problemsOf(line).keys()])].toSorted((a, b) => a - b),
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

/** The zod schema that the document was made of, for an answer that was given. */
function schemaFor(method: string, path: string, status: number): z.ZodType | undefined {
  const line = ROUTES.find((one) => one.method === method && one.path === path);
  if (!line) throw new Error(`no route ${method} ${path}`);
  if (problemsOf(line).has(status)) return PROBLEM;
  expect(Object.keys(line.answers).map(Number)).toContain(status);
  const answer = line.answers[status];
  return answer instanceof zod.ZodType ? answer : undefined;
}

test("real answers and refusals fit the schemas of the document", async () => {
  await using door = await openServer();
  const asked = async (method: string, path: string, id: string, options: Parameters<typeof door.ask>[2] = {}) => {
    const answer = await door.ask(method, path.replace(":id", id), options);
    const schema = schemaFor(method, path, answer.status);
    if (schema) schema.parse(answer.json);
    return answer.status;
  };
  const post = (path: string, id: string, body: unknown, key = keyOf("ann")) => asked("POST", path, id, { body, key });
  const pay = { program: "return await tools.bank.pay({ amount: 1 })", execution: "e" };
  const all = "/v1/executions";
  const one = "/v1/executions/:id";
  expect(await post(all, "", pay)).toBe(200);
  expect(await post(all, "", { program: "await save('a', [1]); throw new TypeError('x')" })).toBe(200);
  expect(await post(all, "", { program: "return 1", wait: false })).toBe(202);
  expect(await post(all, "", { ...pay, program: "other" })).toBe(409);
  expect(await post(all, "", { program: 4 })).toBe(400);
  expect(await post(all, "", "{")).toBe(400);
  expect(await post(all, "", pay, "")).toBe(401);
  expect(await post(all, "", pay, keyOf("ada"))).toBe(403);
  expect(await post(all, "", { program: " ".repeat(5 * 1024 * 1024) })).toBe(413);
  expect(await asked("POST", all, "", { body: "x", headers: { "content-type": "text/plain" } })).toBe(415);
  expect(await asked("GET", all, "", { headers: { host: "evil" } })).toBe(421);
  expect(await asked("GET", all, "")).toBe(200);
  expect(await asked("GET", one, "e")).toBe(200);
  expect(await asked("GET", one, "none")).toBe(404);
  expect(await post(`${one}/decisions`, "e", { decisions: {} })).toBe(400);
  expect(await post(`${one}/decisions`, "e", { decisions: { 7: { allow: true } } })).toBe(404);
  expect(await post(`${one}/decisions`, "e", { decisions: { 1: { allow: true } } })).toBe(200);
  expect(await asked("GET", `${one}/events`, "e")).toBe(200);
  expect(await asked("GET", `${one}/events`, "e", { headers: { "last-event-id": "999" } })).toBe(204);
  expect(await asked("GET", `${one}/events`, "e", { headers: { "last-event-id": "x" } })).toBe(400);
  expect(await asked("GET", `${one}/view`, "e")).toBe(200);
  expect(await asked("GET", `${one}/calls/:call`, "e")).toBe(404);
  expect(await post(`${one}/cancel`, "e", {})).toBe(200);
  for (const path of ["/healthz", "/readyz"]) expect(await asked("GET", path, "")).toBe(200);
  expect(await asked("GET", "/metrics", "", { key: keyOf("ops") })).toBe(200);
});
