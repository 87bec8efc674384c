import { jsonSchema } from "portcullis";
import { expect, test } from "vitest";
import { openServer } from "../servers.ts";

const UNITS = { type: "object", properties: { units: { type: "integer" } }, required: ["units"] };

test("a value that does not fit the schema of the request ends the program, with what was expected", async () => {
  await using door = await openServer();
  const run = (program: string) => door.run({ program, result: UNITS });
  expect((await run("return { units: 3 }")).json.outcome).toEqual({ type: "completed", value: { units: 3 } });
  const { status, json } = await run("return { units: 'many' }");
  expect([status, json.outcome.type, json.outcome.fault.code]).toEqual([200, "failed", "result_invalid"]);
  expect(json.output.text).toContain("It has to be { units: number /* integer */ }");
});

test("a schema that a client has sent may take fewer steps than one of the host", async () => {
  await using door = await openServer();
  const result = { allOf: Array.from({ length: 40 }, (_, n) => ({ items: { minimum: -n } })) };
  const program = "return Array.from({ length: 39_000 }, (_, n) => n)";
  const { json } = await door.run({ program, result });
  expect(json.outcome.fault).toMatchObject({
    code: "result_invalid",
    message: expect.stringContaining("too long") as string,
  });
  const own = await door.runtime.execute(program, { result: jsonSchema(result) });
  expect(own.outcome.type).toBe("completed");
  const few = await door.run({ program, result: { items: { minimum: 0 } } });
  expect(few.json.outcome.type).toBe("completed");
});
