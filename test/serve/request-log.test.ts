import { expect, test } from "vitest";
import type { AnsweredRequest } from "portcullis/serve";
import { KEYS, keyOf, openServer } from "./servers.ts";

test("each request is told once, with whose it was and what became of it, and nothing of its contents", async () => {
  const told: AnsweredRequest[] = [];
  await using door = await openServer({ keys: KEYS, onRequest: (request) => told.push(request) });
  await door.run({ program: "return 'secret'", id: "order-1" });
  const { json } = await door.run({ program: "return 1" });
  await door.ask("GET", "/v1/executions?text=secret");
  await door.ask("GET", "/v1/executions/order-1/events");
  await door.ask("GET", "/v1/executions/none/calls/1");
  await door.run({}, keyOf("ada"));
  await door.ask("GET", "/readyz", { key: keyOf("old") });
  await door.ask("GET", "/readyz", { key: "secret-0123456789" });
  await door.ask("DELETE", "/v1/executions");
  await door.ask("GET", "/secret");
  await door.ask("GET", "/healthz", { key: "" });
  await door.ask("GET", "/");
  const ann = { key: "ann", tenant: "acme" };
  const list = "/v1/executions";
  const one = `${list}/{id}`;
  expect(told.map(({ at: _at, ms: _ms, ...rest }) => rest)).toEqual([
    { method: "POST", path: list, status: 200, ...ann, execution: "order-1" },
    { method: "POST", path: list, status: 200, ...ann, execution: json.execution },
    { method: "GET", path: list, status: 200, ...ann },
    { method: "GET", path: `${one}/events`, status: 200, ...ann, execution: "order-1" },
    { method: "GET", path: `${one}/calls/{call}`, status: 404, code: "execution_unknown", ...ann, execution: "none" },
    { method: "POST", path: list, status: 403, code: "scope_missing", key: "ada", tenant: "acme" },
    { method: "GET", path: "/readyz", status: 401, code: "key_expired", key: "old", tenant: "acme" },
    { method: "GET", path: "/readyz", status: 401, code: "key_unknown" },
    { method: "DELETE", path: list, status: 405, code: "method_unknown", ...ann },
    { method: "GET", path: "(unknown)", status: 404, code: "path_unknown", ...ann },
    { method: "GET", path: "/healthz", status: 200 },
    { method: "GET", path: "/", status: 200 },
  ]);
  expect(JSON.stringify(told)).not.toContain("secret");
  for (const { at, ms } of told) expect([Number.isInteger(at), ms >= 0]).toEqual([true, true]);
});

test("a log that fails changes no answer", async () => {
  const onRequest = () => {
    throw new Error("disk full");
  };
  await using door = await openServer({ keys: KEYS, onRequest });
  expect((await door.ask("GET", "/readyz")).status).toBe(200);
});
