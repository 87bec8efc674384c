import { expect, test } from "vitest";
import { openServer } from "../servers.ts";

const CALL = "const found = await tools.crm.find({});";
const FAILS = `${CALL} throw new Error("the last line is wrong");`;

test("a corrected program is answered as the one before it, and all that tells of it has the ids of its tenant", async () => {
  await using door = await openServer();
  const first = await door.run({ program: FAILS, id: "first" });
  expect(first.json.outcome.type).toBe("failed");
  const body = { program: `${CALL} return found;`, corrects: "first", maxAgeMs: 60_000, id: "second" };
  const { status, json } = await door.run(body);
  const from = { execution: "first", callId: "1" };
  expect(status).toBe(200);
  expect(json).toMatchObject({
    outcome: { type: "completed", value: [{ id: 1 }] },
    calls: [{ tool: "crm.find", started: false, from }],
    usage: { calls: 1, reused: 1 },
  });
  // The same request again gives the same execution.
  expect((await door.run(body)).json.calls).toEqual(json.calls);
  expect((await door.ask("GET", "/v1/executions/second")).json.calls).toMatchObject([{ from }]);
  expect((await door.ask("GET", "/v1/executions/second/view")).json).toMatchObject({
    corrects: "first",
    calls: [{ from }],
  });
  const events = (await door.ask("GET", "/v1/executions/second/events")).text;
  expect(events).toContain('"type":"execution_started","corrects":"first"');
  expect(events).toContain('"from":{"execution":"first","callId":"1"}');
  expect(events).not.toContain("call_started");
});
