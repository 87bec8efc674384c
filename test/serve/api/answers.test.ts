import { Validator } from "@cfworker/json-schema";
import { expect, test } from "vitest";
import { scriptedModel } from "portcullis/testing";
import { pathOf } from "../../../src/serve/api/openapi.ts";
import { makeTool } from "../../support/tools.ts";
import { KEYS, keyOf, openServer } from "../servers.ts";

type Door = Awaited<ReturnType<typeof openServer>>;

/** Checks each answer against the document that the server itself gives. */
async function checked(door: Pick<Door, "ask">) {
  const { json: document } = await door.ask("GET", "/openapi.json");
  const seen = new Map<string, number>();
  const ask = async (
    method: string,
    path: string,
    names: readonly string[] = [],
    body?: unknown,
    key = keyOf("ann"),
  ) => {
    const place = pathOf(path);
    const [id = "", call = "", name = call] = names;
    const real = path
      .replace("/search", "/search?q=pay")
      .replace(":id", id)
      .replace(":call", call)
      .replace(":name", name);
    const answer = await door.ask(method, real, { body, key });
    const { responses } = document.paths[place][method.toLowerCase()];
    const { content } = responses[answer.status] ?? responses.default;
    const schema = { ...content["application/json"].schema, components: document.components };
    const { errors } = new Validator(schema, "2020-12").validate(answer.json);
    expect(errors, `${method} ${real} ${answer.status} ${answer.text.slice(0, 2000)}`).toEqual([]);
    seen.set(place, (seen.get(place) ?? 0) + 1);
    return answer.json;
  };
  return { ask, document, seen };
}

const PROGRAMS: Readonly<Record<string, string>> = {
  value: "console.log('seen'); return await tools.crm.find({})",
  nothing: "",
  failed: "await tools.crm.find({}); throw new TypeError('x')",
  syntax: "return (",
  refused: "await tools.none({})",
  stopped: "for (;;) await tools.crm.find({})",
  kept: "await save('a', [1]); return await load('a')",
  approval: "return await tools.bank.pay({ amount: 1 })",
  client: "return await tools.desk.ask({})",
};

test("all that is answered of programs is as the document says, and has no field beside", async () => {
  const model = scriptedModel([{ calls: [{ tool: "none", input: {} }] }, { text: "so" }, { text: "so" }]);
  await using door = await openServer({ keys: KEYS, model });
  const { ask, seen, document } = await checked(door);
  for (const path of ["/v1/tools", "/v1/tools/search", "/v1/models"])
    await ask("GET", path, [], undefined, keyOf("con"));
  const chat = (path: string, body: object) => ask("POST", `/v1/conversations${path}`, ["chat"], body, keyOf("con"));
  await chat("", { message: "one", id: "chat" });
  await chat("/:id", { message: "two", expect: 1 });
  await chat("/:id", { message: "three", wait: false });
  await ask("GET", "/v1/executions/:id", ["chat"]);
  await chat("/:id/interrupt", {});
  await chat("/:id/end", {});
  await chat("/:id", { message: "four" });
  for (const [execution, program] of Object.entries(PROGRAMS)) {
    await ask("POST", "/v1/executions", [], { program, id: execution, limits: { calls: 20 } });
    await ask("GET", "/v1/executions/:id", [execution]);
    const { calls = [] } = await ask("GET", "/v1/executions/:id/view", [execution]);
    for (const { id } of calls.slice(0, 2)) await ask("GET", "/v1/executions/:id/calls/:call", [execution, id]);
  }
  await ask("POST", "/v1/executions", [], { program: "return 1", wait: false });
  await ask("GET", "/v1/executions/:id/artifacts/:name", ["kept", "a"]);
  await ask("GET", "/v1/executions");
  await ask("POST", "/v1/executions/:id/decisions", ["approval"], { decisions: { 1: { allow: true, by: "ann" } } });
  await ask("POST", "/v1/executions/:id/results", ["client"], { results: { 1: { value: { said: "yes" } } } });
  for (const id of ["approval", "client"])
    await expect.poll(async () => (await ask("GET", "/v1/executions/:id", [id])).state).toBe("ended");
  await ask("GET", "/v1/executions/:id/view", ["approval"]);
  await ask("POST", "/v1/executions/:id/cancel", ["value"], {});
  await ask("GET", "/v1/executions/:id", ["unknown"]);
  await ask("GET", "/healthz");
  await ask("GET", "/readyz", [], undefined, keyOf("ops"));
  const answered = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.values(operations as object).some(({ responses }) => responses[200]?.content?.["application/json"])
      ? [path]
      : [],
  );
  expect([...seen.keys()].toSorted()).toEqual(answered.toSorted());
});

test("all that is answered of conversations and of calls of the host is so too, and what a provider says is not told", async () => {
  const look = makeTool({ name: "look", allowedCallers: ["direct", "programmatic"], execute: () => [{ id: 1 }] });
  const pay = { ...look, name: "pay", effect: "write", approval: "always" } as const;
  const keys = { keys: [{ id: "ann", key: keyOf("ann"), tenant: "acme" }] };
  await using door = await openServer({ keys }, { tools: [look, pay], tenant: "acme" });
  const { runtime } = door;
  const secret = "key sk-17 of account Acme has no money";
  const scripts = [
    [
      { calls: [{ tool: "look", input: {} }], text: "so" },
      { programs: ["return await tools.look({})"] },
      { text: "done" },
    ],
    [{ calls: [{ tool: "pay", input: {} }] }],
    [{ failure: { code: "key_refused", message: secret } }],
  ] as const;
  const ids: string[] = [];
  for (const turns of scripts)
    ids.push((await runtime.agent({ model: scriptedModel(turns), task: "t", loop: { maxTurns: 5 } })).execution);
  await runtime.call({ tool: "look", input: {}, caller: "direct" });
  const { ask } = await checked(door);
  const { executions } = await ask("GET", "/v1/executions");
  expect(executions.map(({ kind }: { readonly kind: string }) => kind)).toEqual(
    expect.arrayContaining(["call", "conversation", "program"]),
  );
  for (const { execution } of executions) {
    const texts = [
      await ask("GET", "/v1/executions/:id", [execution]),
      await ask("GET", "/v1/executions/:id/view", [execution]),
    ];
    expect(JSON.stringify(texts)).not.toContain(secret);
  }
});
