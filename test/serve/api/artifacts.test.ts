import { expect, test } from "vitest";
import { bytesByKey } from "../../../src/serve/http/bytes-by-key.ts";
import { countedAnswer } from "../../../src/serve/http/counted-answer.ts";
import { openServer } from "../servers.ts";
import { testOfAll } from "../../support/all-tests.ts";

const SAVES = `
  await save("rows", [1, 2]);
  await save("rows", [{ id: "<script>" }]);
  await save("a b.json", "text");
`;

test("what a program has kept is read by its name, as JSON that no browser shows", async () => {
  await using door = await openServer();
  await door.run({ program: SAVES, id: "e" });
  const rows = await door.ask("GET", "/v1/executions/e/artifacts/rows");
  expect([rows.status, rows.text]).toEqual([200, '[{"id":"<script>"}]']);
  expect(Object.fromEntries(rows.headers)).toMatchObject({
    "content-type": "application/json",
    "content-disposition": "attachment",
    "x-content-type-options": "nosniff",
  });
  expect((await door.ask("GET", "/v1/executions/e/artifacts/a%20b.json")).json).toBe("text");
  const { json } = await door.ask("GET", "/v1/executions/e");
  expect(json.artifacts.map(({ name }: { name: string }) => name)).toEqual(["rows", "a b.json"]);
});

test("a value that is too large for the report is whole there, under the name that the report has", async () => {
  await using door = await openServer();
  const { json } = await door.run({ program: "return Array(50_000).fill('x')" });
  const [{ name, bytes }] = json.artifacts;
  const whole = await door.ask("GET", `/v1/executions/${json.execution}/artifacts/${name}`);
  expect([whole.json.length, whole.text.length]).toEqual([50_000, bytes]);
});

test.each(["none", "__proto__"])(
  "under another name, like %s, there is nothing, and those that there are can be found",
  async (name) => {
    await using door = await openServer();
    await door.run({ program: SAVES, id: "e" });
    const { error } = (await door.ask("GET", `/v1/executions/e/artifacts/${name}`)).json;
    expect([error.code, error.message]).toEqual([
      "artifact_unknown",
      expect.stringMatching(/GET \/v1\/executions\/e$/),
    ]);
  },
);

testOfAll("an answer that could never be given says so, and not that it is worth to try again", async () => {
  const give = () =>
    countedAnswer(new Response("x".repeat(90_000_000)), { open: bytesByKey(), key: { id: "ann", tenant: "acme" } });
  await expect(give()).rejects.toMatchObject({ problem: { code: "answer_too_large" } });
});

test("however much the keys of a tenant hold, another tenant's key finds room, and so does its next", () => {
  const open = bytesByKey({ own: 80, all: 256, each: 1 });
  const fill = (tenant: string) => {
    const begun = Array.from({ length: 1000 }, (_, n) => open.begin({ id: `${tenant}${n % 50}`, tenant }, 3));
    return begun.filter((release) => release).length * 4;
  };
  expect(["a", "b", "c"].map(fill)).toEqual([188, 48, 12]);
});
