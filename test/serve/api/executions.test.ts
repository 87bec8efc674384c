import { expect, test } from "vitest";
import { checkPrograms } from "../../support/check-programs.ts";
import { settableClock } from "../../support/clock.ts";
import { keyOf, KEYS, openServer } from "../servers.ts";

const PAY = "const paid = await tools.bank.pay({ amount: 3 }); return paid;";

test("a program runs, and its report equals the library's", async () => {
  await using door = await openServer();
  const { status, json } = await door.run({ program: "console.log('hello'); return await tools.crm.find({})" });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    kind: "program",
    state: "ended",
    outcome: { type: "completed", value: [{ id: 1 }] },
    calls: [{ tool: "crm.find", outcome: { type: "value" } }],
    logs: { text: "hello\n" },
  });
  const later = await door.ask("GET", `/v1/executions/${json.execution}`);
  expect(later.json).toMatchObject({ execution: json.execution, state: "ended", outcome: json.outcome });
});

test("a program with a call that would be refused ends before any call", async () => {
  using _ = checkPrograms();
  await using door = await openServer();
  const { json } = await door.run({ program: "await tools.crm.find({}); return tools.crm.nope({});" });
  expect(json).toMatchObject({ calls: [], outcome: { type: "failed", fault: { code: "calls_invalid", line: 1 } } });
});

test("a waiting program is decided over HTTP, with the key as its signature, and continues by itself", async () => {
  await using door = await openServer();
  const waiting = await door.run({ program: PAY, id: "order-1" });
  expect(waiting.json).toMatchObject({ execution: "order-1", state: "waiting" });
  const { callId } = waiting.json.outcome.approvals[0];
  const decided = await door.decide("order-1", { [callId]: { allow: true, by: "Ann" } });
  expect([decided.status, decided.json]).toEqual([200, { execution: "order-1", state: "running" }]);
  const events = await door.ask("GET", "/v1/executions/order-1/events");
  expect(events.text).toContain('"by":"Ann (ann)"');
  const ended = await door.ask("GET", "/v1/executions/order-1");
  expect(ended.json).toMatchObject({ state: "ended", outcome: { type: "completed", value: { paid: 3 } } });
  const again = await door.decide("order-1", { [callId]: { allow: false } });
  expect([again.status, again.json.error.code]).toEqual([409, "decision_exists"]);
});

test("a client answers its calls, and a wrong result is refused while the call waits on", async () => {
  await using door = await openServer();
  const program = "return (await tools.desk.ask({})).said";
  const waiting = await door.run({ program, id: "q" });
  const { callId } = waiting.json.outcome.calls[0];
  const answer = (results: object) => door.ask("POST", "/v1/executions/q/results", { body: { results } });
  const wrong = await answer({ [callId]: { value: 4 } });
  expect([wrong.status, wrong.json.error.code]).toEqual([400, "option_invalid"]);
  const none = await answer({ 99: { value: 4 } });
  expect([none.status, none.json.error.code]).toEqual([404, "call_unknown"]);
  expect((await answer({ [callId]: { value: { said: "yes" } } })).status).toBe(200);
  await door.ask("GET", "/v1/executions/q/events");
  expect((await door.ask("GET", "/v1/executions/q")).json.outcome).toEqual({ type: "completed", value: "yes" });
});

test("the same id joins the same program, and is refused for another one", async () => {
  await using door = await openServer();
  const body = { program: "return await tools.crm.slow({})", id: "same", wait: false };
  expect((await door.run(body)).status).toBe(202);
  expect((await door.run(body)).status).toBe(202);
  const other = { ...body, program: "return 2" };
  const refused = await door.run(other);
  expect([refused.status, refused.json.error.code]).toEqual([409, "execution_exists"]);
  const joined = door.run({ ...body, wait: true });
  door.slow.release();
  expect((await joined).json.outcome).toEqual({ type: "completed", value: 1 });
  expect((await door.run({ ...body, wait: true })).json.outcome.value).toBe(1);
});

test("an execution is cancelled, whether it runs, waits or has ended", async () => {
  await using door = await openServer();
  await door.run({ program: "return await tools.crm.slow({})", id: "runs", wait: false });
  await door.run({ program: PAY, id: "waits" });
  for (const id of ["runs", "waits", "waits"]) {
    const { status, json } = await door.ask("POST", `/v1/executions/${id}/cancel`, { body: {} });
    expect([status, json]).toMatchObject([200, { state: "ended", outcome: { type: "cancelled" } }]);
  }
});

test("the list has pages, and filters by state, tool and text", async () => {
  await using door = await openServer();
  const run = (program: string, id: string) => door.run({ program, id });
  await run("return 'first'", "a");
  await run("return await tools.crm.find({})", "b");
  await run(PAY, "c");
  const idsOf = async (query: string) =>
    (await door.ask("GET", `/v1/executions${query}`)).json.executions.map(
      ({ execution }: { execution: string }) => execution,
    );
  expect(await idsOf("")).toEqual(["c", "b", "a"]);
  expect(await idsOf("?state=waiting")).toEqual(["c"]);
  expect(await idsOf("?tool=crm.find")).toEqual(["b"]);
  expect(await idsOf("?text=FIRST")).toEqual(["a"]);
  const { cursor } = (await door.ask("GET", "/v1/executions?limit=1")).json;
  expect(await idsOf(`?limit=1&cursor=${cursor}`)).toEqual(["b"]);
  expect((await door.ask("GET", "/v1/executions?cursor=gone")).status).toBe(400);
  expect((await door.ask("GET", "/v1/executions?sate=ended")).json.error.message).toContain("sate");
});

test("pages of the list have each execution once, also one that a host began whose clock was ahead or behind", async () => {
  const clock = settableClock();
  await using door = await openServer();
  const begin = async (execution: string, aheadMs = 0) => {
    clock.jump(aheadMs);
    await door.run({ program: PAY, id: execution });
    clock.jump(100_000 - aheadMs);
  };
  await begin("first");
  await begin("ahead", 450_000);
  await begin("behind", -3_600_000);
  for (let n = 0; n < 6; n += 1) await begin(`later-${n}`);
  for (const query of ["limit=3", "limit=2&state=waiting"]) {
    const seen: string[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined;) {
      const { json } = await door.ask("GET", `/v1/executions?${query}${cursor && `&cursor=${cursor}`}`);
      seen.push(...json.executions.map(({ execution }: { execution: string }) => execution));
      cursor = json.cursor;
    }
    expect(seen.join(" ")).toBe("later-5 later-4 later-3 ahead later-2 later-1 later-0 first behind");
  }
});

test("limits only narrow, and a key's tools are the only ones", async () => {
  await using door = await openServer();
  const program = "let n = 0; for (;;) { await tools.crm.find({}); n += 1; }";
  const wide = await door.run({ program, limits: { calls: 3 } }, keyOf("low"));
  expect([wide.status, wide.json.error.message]).toEqual([400, expect.stringMatching(/^body\.limits\.calls: .*\b2\b/)]);
  const narrow = await door.run({ program, limits: { calls: 1 } }, keyOf("low"));
  expect(narrow.json.usage.calls).toBe(2);
  const forbidden = { program: "return await tools.bank.pay({ amount: 1 })" };
  expect((await door.run(forbidden, keyOf("low"))).json.outcome.type).toBe("failed");
  const wideKey = { keys: [{ id: "x", key: keyOf("x"), tenant: "t", limits: { calls: 1_000_000 } }] };
  await expect(openServer({ keys: wideKey })).rejects.toMatchObject({ code: "option_invalid" });
});

test.each([true, false])("a source that is not valid has a report and no execution, with wait: %s", async (wait) => {
  await using door = await openServer();
  const { status, json } = await door.run({ program: "return (", id: "e", wait });
  expect([status, json.outcome.fault.code]).toEqual([200, "syntax"]);
  expect((await door.ask("GET", "/v1/executions/e")).status).toBe(404);
});

test("GET with ?wait answers once the program has ended, or waits, or the time is over, and other requests are answered meanwhile", async () => {
  await using door = await openServer({ keys: KEYS }, { approve: () => "later" });
  const key = keyOf("ann");
  const begin = (program: string, id: string) => door.run({ program, id, wait: false }, key);
  await begin("return await tools.crm.slow({});", "slow");
  await door.slow.begun();
  const held = door.ask("GET", "/v1/executions/slow?wait=60", { key });
  expect((await door.ask("GET", "/v1/executions/slow?wait=1", { key })).json).toMatchObject({ state: "running" });
  expect((await door.ask("GET", "/v1/executions/slow", { key })).json).toMatchObject({ state: "running" });
  door.slow.release();
  expect((await held).json).toMatchObject({ state: "ended", outcome: { type: "completed", value: 1 } });
  await begin("return await tools.bank.pay({ amount: 1 });", "waits");
  expect((await door.ask("GET", "/v1/executions/waits?wait=60", { key })).json).toMatchObject({ state: "waiting" });
  for (const wait of ["-1", "301", "1.5", "soon"])
    expect((await door.ask("GET", `/v1/executions/waits?wait=${wait}`, { key })).status).toBe(400);
  expect((await door.ask("GET", "/v1/executions/slow?wait=60", { key: keyOf("bob") })).status).toBe(404);
});
