import { expect, test } from "vitest";
import { linkedValues } from "../../src/serve/linked-values.ts";
import { ownerOf } from "../../src/serve/principal.ts";
import { KEYS, openServer } from "./servers.ts";
import { makeTool } from "../support/tools.ts";

const BIG = "9007199254740993";
const LONG = `"${"x".repeat(100_000)}"`;
const FAULTS = [
  ["a number that no double keeps", `{"rows":[1,{"id":${BIG}}]}`, `rows[1].id: ${BIG} would become 9007199254740992`],
  ["a number that no double keeps, in a long text", `{"t":${LONG},"id":${BIG}}`, `id: ${BIG} would become`],
  ["digits that no double keeps", `{"share":0.1000000000000000055}`, "share: 0.1000000000000000055 would become 0.1"],
  ["a name twice", `{"id":1,"id":2}`, "id: it is given twice"],
  ["a name twice in a long text", `{"id":1,"t":${LONG},"\\u0069d":2}`, "id: it is given twice"],
] as const;

test.each(FAULTS)(
  "%s in a client's result, or in what a decision says was done, is refused with its place, and the call waits on",
  async (_, value, said) => {
    await using door = await openServer();
    const program = "return await tools.desk.ask({})";
    await door.run({ program, id: "asks" });
    const answered = (text: string) =>
      door.ask("POST", "/v1/executions/asks/results", { body: `{"results":{"1":{"value":${text}}}}` });
    const body = `{"decisions":{"1":{"done":{"value":${value}}}}}`;
    const decided = await door.ask("POST", "/v1/executions/asks/decisions", { body });
    for (const [{ status, json }, place] of [
      [await answered(value), "results[1].value"],
      [decided, "decisions[1].done.value"],
    ] as const) {
      expect([status, json.error.code]).toEqual([400, "request_invalid"]);
      expect(json.error.message).toContain(`${place}.${said}`);
    }
    expect((await door.ask("GET", "/v1/executions/asks")).json.state).toBe("waiting");
    expect((await answered('{"said":"0.1 and 1e21"}')).status).toBe(200);
  },
);

test("a call whose answer is given twice in one body is refused, and not answered with the last", async () => {
  await using door = await openServer();
  const answer = await door.ask("POST", "/v1/executions/asks/results", {
    body: '{"results":{"1":{"value":1}},"results":{"1":{"value":2}}}',
  });
  expect([answer.status, answer.json.error.message]).toEqual([400, "results: it is given twice."]);
});

/** A server whose tool notes what it was given, called by an MCP client. */
async function openDoor() {
  const given: unknown[] = [];
  const keep = makeTool({ name: "keep", allowedCallers: ["direct"], execute: (input) => given.push(input) });
  const door = await openServer({ keys: { keys: KEYS.keys.filter(({ id }) => id === "ann") } }, { tools: [keep] });
  const called = (args: string, more = "") =>
    door.ask("POST", "/mcp", {
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"keep","arguments":${args}${more}}}`,
      headers: { accept: "application/json, text/event-stream" },
    });
  return { given, called, [Symbol.asyncDispose]: () => door[Symbol.asyncDispose]() };
}

test.each(FAULTS)(
  "%s in the arguments of an MCP client is refused with its place, and no tool runs",
  async (_, args, said) => {
    await using door = await openDoor();
    const answer = await door.called(args);
    expect([answer.status, answer.json.error.message]).toEqual([
      400,
      expect.stringContaining(`params.arguments.${said}`),
    ]);
    expect(door.given).toEqual([]);
  },
);

test("numbers that a double is arrive as they were, and the digits of others elsewhere in a message refuse nothing", async () => {
  await using door = await openDoor();
  const answer = await door.called(
    '{"n":[0.1,1e21,-0.30000000000000004,1.0,9007199254740992]}',
    `,"_meta":{"at":${BIG}}`,
  );
  expect([answer.status, door.given]).toEqual([200, [{ n: [0.1, 1e21, -0.30000000000000004, 1, 9007199254740992] }]]);
});

test("values of one tenant's keys make room for its next, and those of a tenant that keeps less stay", () => {
  const values = linkedValues();
  const ann = { id: "ann", tenant: "acme" };
  const kept = values.keep(ann, "v", "x");
  for (let n = 0; n < 6; n += 1) values.keep({ id: `b${n}`, tenant: "other" }, "v", "x".repeat(30 * 2 ** 20));
  expect(values.read(ownerOf(ann), kept?.uri ?? "")).toBe("x");
  expect(values.of(ownerOf({ id: "b0", tenant: "other" }))).toEqual([]);
});
