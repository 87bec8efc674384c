import { hash } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { createSqliteJournal, jsonSchema, type Report, type RuntimeOptions } from "../../../../src/index.ts";
import { createMemoryJournal } from "../../../../src/journal/index.ts";
import { recordedResult } from "../../../../src/executions/drive/ending/result-schema.ts";
import { codeOf, failing, runtimeWith, throws, tool } from "../../../support/index.ts";

const start = (options: Partial<RuntimeOptions> = {}) => runtimeWith([], options);
const rows = z.object({ rows: z.array(z.object({ price: z.number() })) });
const faultOf = ({ outcome }: Report) => (outcome.type === "failed" ? outcome.fault : undefined);
test("a value that fits the result is the report's value, whole and as the schema gives it out", async () => {
  await using runtime = await start();
  const prices = jsonSchema<number[]>({ type: "array", items: { type: "number" } });
  const report = await runtime.execute("return Array.from({ length: 20_000 }, (_, n) => n);", { result: prices });
  expect(report.outcome).toMatchObject({ type: "completed", value: { too_large: expect.any(String) } });
  expect(report.value).toHaveLength(20_000);
  const result = z.object({ at: z.string().transform((text) => text.length) });
  expect((await runtime.execute('return { at: "noon", more: 1 };', { result })).value).toEqual({ at: 4 });
  expect((await runtime.execute("return 1;")).value).toBeUndefined();
});

describe("a value that does not fit ends the program as failed, with a sentence that the model can mend", () => {
  test("it has the path, and the type that was expected", async () => {
    await using runtime = await start();
    const report = await runtime.execute('return { rows: [{ price: 1 }, { price: "2" }] };', { result: rows });
    expect(faultOf(report)).toMatchObject({ name: "ResultError", code: "result_invalid" });
    expect(report.output.text).toContain("rows[1].price");
    expect(report.output.text).toContain("{ rows: { price: number }[] }");
    expect(report.value).toBeUndefined();
  });

  test("nothing, and a value of the wrong type at the root, are told in words", async () => {
    await using runtime = await start();
    const of = async (program: string) => faultOf(await runtime.execute(program, { result: rows }))?.message;
    expect(await of("if (0) {}")).toContain("the program returned nothing");
    expect(await of("return null;")).toContain("expected object");
  });

  test("more bytes than may be checked, or more values, are refused before a schema walks them", async () => {
    const check = vi.fn(() => true);
    const any = z.any().refine(check);
    await using runtime = await start({});
    const long = await runtime.execute('return "x".repeat(1_100_000);', { result: any });
    expect(faultOf(long)?.message).toContain("limit inputBytes");
    const many = await runtime.execute("return Array(50_000).fill(0);", { result: any });
    expect(faultOf(many)?.message).toContain("more than 40000 values");
    expect(check).not.toHaveBeenCalled();
  });

  test("a schema that throws refuses the value, and its error stays on the host", async () => {
    const schema = z.any().transform(throws("the password is hunter2"));
    await using runtime = await start();
    const report = await runtime.execute("return 1;", { result: schema });
    expect(faultOf(report)?.code).toBe("result_invalid");
    expect(JSON.stringify(report)).not.toContain("hunter2");
  });
});

test("a schema without a JSON Schema is refused before anything runs", async () => {
  await using runtime = await start();
  const given = { result: { type: "object" } } as never;
  await expect(runtime.execute("return 1;", given)).rejects.toMatchObject(
    failing("option_invalid", "execute({ result })"),
  );
});

describe("an execution keeps the result that it began with", () => {
  test.each([
    ["memory", () => createMemoryJournal()],
    ["sqlite", () => createSqliteJournal({ path: ":memory:" })],
  ])("the same id with another schema is another execution: %s", async (_name, journal) => {
    await using runtime = await start({ journal: journal() });
    const execution = "order-1";
    const again = (options: object) => runtime.execute("return { rows: [] };", { id: execution, ...options });
    expect((await again({ result: rows })).value).toEqual({ rows: [] });
    expect((await again({ result: rows })).value).toEqual({ rows: [] });
    expect(await codeOf(again({ result: z.any() }))).toBe("execution_exists");
    expect(await codeOf(again({}))).toBe("execution_exists");
  });

  test("one that waits goes on only with it, and its value is checked then", async () => {
    const stock = tool("stock", () => 1);
    const client = { ...stock, execute: "client" as const };
    await using runtime = await start({ tools: [client] });
    const result = z.object({ units: z.number() });
    const waiting = await runtime.execute("return await tools.stock({});", { result });
    expect(waiting.outcome.type).toBe("waiting");
    const goOn = (options: object) =>
      runtime.execution(waiting.execution).resume({ results: { 1: { value: { units: 3 } } }, ...options });
    expect(await codeOf(goOn({}))).toBe("option_invalid");
    expect(await codeOf(goOn({ result: rows }))).toBe("option_invalid");
    expect((await goOn({ result })).value).toEqual({ units: 3 });
    expect((await runtime.execution(waiting.execution).resume({ result })).value).toEqual({ units: 3 });
    expect((await runtime.execution(waiting.execution).resume()).value).toBeUndefined();
  });

  test("a plain one need not be given again: the journal has it, and the value is checked against it", async () => {
    const client = { ...tool("stock", () => 1), execute: "client" as const };
    const result = jsonSchema({ type: "object", properties: { units: { type: "integer" } } });
    using journal = createSqliteJournal({ path: ":memory:" });
    const waiting = async () => {
      await using runtime = await start({ tools: [client], journal });
      return (await runtime.execute("return await tools.stock({});", { result })).execution;
    };
    await using next = await start({ tools: [client], journal });
    const goOn = async (units: unknown) =>
      next.execution(await waiting()).resume({ results: { 1: { value: { units } } } });
    expect((await goOn(3)).value).toEqual({ units: 3 });
    expect(faultOf(await goOn("many"))).toMatchObject({ code: "result_invalid" });
  });

  test.each([
    ["another schema", '{"type":"string"}'],
    ["no JSON", "{"],
    ["no schema", "[]"],
    ["one that cannot be checked", '{"$ref":"#/nowhere"}'],
  ])("a journal whose text is %s has no schema to go on with", (name, resultSchema) => {
    const result = name === "another schema" ? "0".repeat(64) : hash("sha256", resultSchema);
    expect(recordedResult({ result, resultSchema })).toBeUndefined();
  });

  test("one that began without a schema is not given one", async () => {
    await using runtime = await start();
    const { execution } = await runtime.execute("return 1;");
    expect(await codeOf(runtime.execution(execution).resume({ result: rows }))).toBe("option_invalid");
  });
});
