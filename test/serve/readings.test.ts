import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createMemoryJournal, type Journal } from "portcullis/journal";
import { Readings } from "../../src/serve/readings.ts";
import { workingClock } from "../support/clock.ts";
import { countTurns } from "../support/count-turns.ts";
import { sessionless } from "./mcp/http/messages.ts";
import { KEYS, keyOf, openServer } from "./servers.ts";
import { makeTool } from "../support/tools.ts";

const open = new AbortController().signal;

/** Readings that end one by one. */
function held() {
  const readings = new Readings(8);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const read = (key: string, signal = open) =>
    readings.run(key, signal, () => {
      begun.push(key);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const end = async () => {
    ends.shift()?.();
    await setImmediate();
  };
  return { readings, begun, read, end };
}

/** How often something goes on at once, at most. */
function gauge() {
  let going = 0;
  return {
    most: 0,
    begin() {
      going += 1;
      this.most = Math.max(this.most, going);
    },
    end() {
      going -= 1;
    },
  };
}

test("a key reads two things at once, all keys eight, and of keys that wait the one that reads the fewest is next", async () => {
  const { begun, read, end } = held();
  const all = Array.from("aaaaaabbbcccdddee", (key) => read(key));
  await setImmediate();
  expect(begun.join("")).toBe("aabbccdd");
  for (let left = 0; left < 8; left += 1) await end();
  expect(begun.slice(8, 10)).toEqual(["e", "a"]);
  while (begun.length < all.length) await end();
  for (let left = 0; left < 8; left += 1) await end();
  await Promise.all(all);
});

test("what fails gives its place back, one that has left takes none and waits no longer, and there is a bound on those that wait", async () => {
  const { readings, read, begun, end } = held();
  for (let times = 0; times < 3; times += 1)
    await expect(readings.run("a", open, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  const running = [read("a"), read("a")];
  const left = new AbortController();
  const gone = read("a", left.signal);
  left.abort();
  const waiting = Array.from({ length: 1000 }, () => read("a"));
  await expect(read("a")).rejects.toMatchObject({ problem: { code: "too_many_at_once" } });
  await Promise.all([end(), expect(gone).rejects.toMatchObject({ problem: { code: "request_invalid" } })]);
  while (begun.length < 1002) await end();
  await end();
  await end();
  await Promise.all([...running, ...waiting]);
});

/** A journal that tells how often at once it is read, or listed. */
function gauged(name: "read" | "list") {
  const memory = createMemoryJournal();
  const readings = gauge();
  const journal = {
    ...memory,
    async *[name](...args: never[]) {
      readings.begin();
      try {
        await setImmediate();
        yield* (memory[name] as (...given: never[]) => AsyncIterable<unknown>)(...args);
      } finally {
        readings.end();
      }
    },
  } as Journal;
  return { journal, readings };
}

test.each(["/view", "", "/calls/1", "/cancel"])(
  "however often one key asks for %j of an execution, its journal is read by few at once",
  async (path) => {
    const { journal, readings } = gauged("read");
    await using door = await openServer({ keys: KEYS }, { journal });
    const program = "await Promise.all(Array.from({ length: 50 }, () => tools.crm.find({}))); return 1";
    await door.run({ program, id: "e" });
    readings.most = 0;
    const [method, body] = path === "/cancel" ? ["POST", {}] : ["GET", undefined];
    const answers = await Promise.all(
      Array.from({ length: 15 }, () => door.ask(method, `/v1/executions/e${path}`, { key: keyOf("ann"), body })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(readings.most).toBeLessThanOrEqual(4);
  },
);

test("however often an MCP client asks what it has begun, or searches, few journals are read and few searches go on at once", async () => {
  const { journal, readings } = gauged("list");
  const searches = gauge();
  const embed = async (texts: readonly string[]) => {
    searches.begin();
    await setImmediate();
    searches.end();
    return texts.map(() => [1]);
  };
  await using door = await openServer({ keys: KEYS }, { journal, search: { embed } });
  const call = (name: string, args: object) =>
    door.ask("POST", "/mcp", sessionless("tools/call", { name, arguments: args }));
  const lists = await Promise.all(Array.from({ length: 15 }, () => call("result", {})));
  expect(lists.map(({ json }) => json.result.content[0].text)).toEqual(lists.map(() => "[]"));
  const found = await Promise.all(Array.from({ length: 15 }, (_, n) => call("search_tools", { query: `q${n}` })));
  expect(found.map(({ json }) => json.result.isError)).toEqual(found.map(() => undefined));
  for (const { most } of [readings, searches]) {
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(4);
  }
});

test("however often an MCP client asks for the tools, each list has a turn of the event loop", async () => {
  const { work } = workingClock();
  const slow = makeTool({
    name: "slow",
    description: "is looked at for as long as a long list takes",
    allowedCallers: ["direct"],
    execute: () => 1,
    enabled: () => {
      work(10);
      return true;
    },
  });
  await using door = await openServer({ keys: { keys: KEYS.keys.slice(0, 1) } }, { tools: [slow] });
  const list = async () => (await door.ask("POST", "/mcp", sessionless("tools/list"))).json.result.tools.length;
  const tools = await list();
  const turns = countTurns();
  const lists = Array.from({ length: 15 }, list);
  expect(await Promise.all(lists)).toEqual(lists.map(() => tools));
  // One turn after the first list, and after each further one but the last.
  expect(turns()).toBeGreaterThanOrEqual(lists.length - 1);
});

test("an execution that is asked for again and again by its id is read by few at once, whether it has ended or waits", async () => {
  const memory = createMemoryJournal();
  const readings = gauge();
  const journal: Journal = {
    ...memory,
    async *read(execution, options) {
      let isWhole = false;
      try {
        for await (const record of memory.read(execution, options)) {
          // The first is looked at to know whether it is the same program.
          if (record.type !== "header" && !isWhole) {
            isWhole = true;
            readings.begin();
          }
          if (isWhole) await setImmediate();
          yield record;
        }
      } finally {
        if (isWhole) readings.end();
      }
    },
  };
  await using door = await openServer({ keys: KEYS }, { journal });
  for (const program of ["await tools.crm.find({}); return 1", "return await tools.bank.pay({ amount: 1 })"]) {
    const body = { program, id: program.slice(0, 10) };
    const run = (more: object) => door.run({ ...body, ...more });
    const { json } = await run({});
    readings.most = 0;
    const answers = await Promise.all(Array.from({ length: 15 }, (_, n) => run({ wait: n > 5 })));
    for (const answer of answers.slice(6)) expect(answer.json.outcome).toEqual(json.outcome);
    expect(answers.slice(0, 6).map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 202));
    expect(readings.most).toBeLessThanOrEqual(4);
  }
});

test("a key that waits with half of all requests has no more, until one of them or a stream is over, and others have theirs", async () => {
  // Few connections count as 256.
  await using door = await openServer({ keys: KEYS, connections: 8 });
  const body = { program: "return tools.crm.slow({})", id: "e" };
  const slow = door.run(body);
  await door.slow.begun();
  const headers = { authorization: `Bearer ${keyOf("ann")}` };
  const stream = await door.server.fetch(new Request("http://localhost/v1/executions/e/events", { headers }));
  const waiting = Array.from({ length: 126 }, () => door.ask("GET", "/v1/executions/e?wait=300"));
  const tools = (key: string) => door.ask("GET", "/v1/tools", { key: keyOf(key) });
  const refused = await tools("ann");
  expect([refused.status, refused.json.error.code]).toEqual([429, "too_many_at_once"]);
  expect([refused.headers.get("connection"), refused.headers.get("retry-after")]).toEqual(["close", "1"]);
  expect((await tools("bob")).status).toBe(200);
  await stream.body?.cancel();
  expect((await tools("ann")).status).toBe(200);
  door.slow.release();
  const statuses = (await Promise.all([slow, ...waiting])).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  const all = await Promise.all(Array.from({ length: 128 }, () => tools("ann")));
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
});
