import { expect, test } from "vitest";
import { ROUTES } from "../../../src/serve/api/routes.ts";
import { keyOf, openServer } from "../servers.ts";

/** Bodies that each route with an id would accept. */
const BODIES: Readonly<Record<string, unknown>> = {
  "/v1/executions/:id/decisions": { decisions: { 1: { allow: true } } },
  "/v1/executions/:id/results": { results: { 1: { value: 1 } } },
  "/v1/executions/:id/cancel": {},
  "/v1/conversations/:id": { message: "x" },
  "/v1/conversations/:id/interrupt": {},
  "/v1/conversations/:id/end": {},
};

const OF_AN_EXECUTION = ROUTES.filter(({ path }) => path.includes(":id"));

test.each(OF_AN_EXECUTION)("$method $path answers another tenant's execution like one that never was", async (line) => {
  await using door = await openServer();
  const program = "return await tools.bank.pay({ amount: 3 })";
  for (const execution of ["theirs", "ends"])
    await door.run({ program: execution === "ends" ? "return 1" : program, id: execution });
  const body = line.method === "POST" ? BODIES[line.path] : undefined;
  const asked = (id: string) =>
    door.ask(line.method, line.path.replace(":id", id).replace(":call", "1").replace(":name", "rows"), {
      key: keyOf("bea"),
      ...(body ? { body } : {}),
    });
  const [unknown, waits, ended] = [await asked("never"), await asked("theirs"), await asked("ends")];
  expect(unknown.status).toBe(404);
  for (const one of [waits, ended]) {
    expect([one.status, one.text]).toEqual([unknown.status, unknown.text]);
    expect([...one.headers]).toEqual([...unknown.headers]);
  }
  expect((await asked("never/../theirs")).text).not.toContain("bank");
  expect((await door.ask("GET", "/v1/executions/theirs")).json.state).toBe("waiting");
});
