import { expect, test } from "vitest";
import { openServer } from "../servers.ts";

test("what an engine said before it died is for the operator, and in no answer", async () => {
  await using door = await openServer();
  const { journal } = door.runtime;
  const body = { program: "await tools.bank.pay({ amount: 3 })" };
  const { execution } = (await door.run(body)).json;
  const { records } = await journal.find(execution);
  const detail = "the engine ended with SIGABRT: /srv/secret/bin/node";
  const outcome = JSON.stringify({ type: "crashed", code: "engine_died", detail });
  await journal.append(execution, records, [
    { type: "restart", detail, at: Date.now() },
    { type: "outcome", outcome, at: Date.now() },
  ]);
  const path = `/v1/executions/${execution}`;
  expect((await door.ask("GET", path)).json.outcome).toEqual({ type: "crashed", code: "engine_died" });
  for (const part of ["", "/events", "/view"]) {
    const { status, text } = await door.ask("GET", path + part);
    expect([part, status]).toEqual([part, 200]);
    expect(text).toContain("crashed");
    expect(text).not.toContain("secret");
  }
  expect((await door.ask("GET", "/v1/executions")).text).not.toContain("secret");
});
