import type { z } from "zod";
import { expect, test, vi } from "vitest";
import { ROUTES } from "../../../src/serve/api/routes.ts";
import { ALL_TESTS, someOf } from "../../support/all-tests.ts";
import { keyOf, openServer } from "../servers.ts";

const wide = (value: unknown) => Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`f${n}`, value]));
const BODIES = {
  "of its own": wide(1),
  "of calls": { program: "return 1", decisions: wide({}), results: wide({ value: 1 }), limits: wide(1) },
  "of one call": { decisions: { 1: wide(1) }, results: { 1: wide(1) } },
};

const texts = (count: number) => Array.from({ length: count }, () => "x");
const LISTS = {
  entries: texts(10_000),
  "entries in lists": Array.from({ length: 10 }, () => texts(200)),
  "entries in a list of a list": [[texts(10_000)]],
};
const NAMES = ["message", "tools", "model"];

/** Each route with a body, and what it is sent of too many fields or entries. */
const WIDE = ROUTES.filter(({ body }) => body !== undefined).flatMap(({ path, body, scope }) => [
  ...someOf(Object.entries(BODIES), 1).map(([which, sent]) => ({ path, body, what: `fields ${which}`, sent })),
  ...Object.entries(scope === "converse" ? LISTS : {}).flatMap(([which, list]) =>
    someOf(NAMES, 1).map((name) => ({ path, body, what: `${which} of ${name}`, sent: { [name]: list } })),
  ),
]);

test.each(WIDE)(
  "a body of $path with too many $what is refused before it is checked",
  async ({ path, body, what, sent }) => {
    await using door = await openServer();
    await door.run({ program: "return await tools.desk.ask({})", id: "waits" });
    const checked = vi.spyOn(body as z.ZodType, "safeParse");
    const answer = await door.ask("POST", path.replace(":id", "waits"), { key: keyOf("con"), body: sent });
    expect([answer.status, answer.json.error.code]).toEqual([400, "request_invalid"]);
    expect(answer.text).toContain(`at most 1000 ${what.split(" ")[0]}`);
    expect(checked).not.toHaveBeenCalled();
    checked.mockRestore();
    expect((await door.ask("GET", "/v1/executions/waits")).json.state).toBe("waiting");
  },
);

test("a value may have as many fields and entries as a body holds", async () => {
  await using door = await openServer();
  const program = "return await tools.desk.ask({})";
  await door.run({ program, id: "waits" });
  const value = { said: "x", ...wide(1), list: Array(10_000).fill(1) };
  const answer = await door.ask("POST", "/v1/executions/waits/results", { body: { results: { 1: { value } } } });
  expect(answer.text).not.toContain("at most 1000");
});

test("clients that cancel and decide at the same time are told the outcome", async () => {
  await using door = await openServer();
  const program = "return await tools.bank.pay({ amount: 1 })";
  for (let n = 0; n < (ALL_TESTS ? 20 : 5); n += 1) {
    const path = `/v1/executions/race-${n}`;
    await door.run({ program, id: `race-${n}` });
    const decided = { body: { decisions: { 1: { allow: true } } } };
    const cancels = [0, 1, 2].map(() => door.ask("POST", `${path}/cancel`, { body: {} }));
    const [decision, ...cancelled] = await Promise.all([door.ask("POST", `${path}/decisions`, decided), ...cancels]);
    expect([200, 404]).toContain(decision?.status);
    const { outcome } = (await door.ask("GET", path)).json;
    for (const one of cancelled) expect([one.status, one.json.outcome]).toEqual([200, outcome]);
  }
});
