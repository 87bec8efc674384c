import { connect } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { createSqliteJournal, PortcullisError } from "portcullis";
import { createMemoryJournal, type Journal } from "portcullis/journal";
import { expect, onTestFinished, test } from "vitest";
import { eventStream, type EventStreamParts } from "../../../src/serve/live/event-stream.ts";
import { type JournalWatch, journalWatch } from "../../../src/serve/live/journal-watch.ts";
import { tenantIds } from "../../../src/serve/tenant-ids.ts";
import { header } from "../../journal/records.ts";
import { testOfAll } from "../../support/all-tests.ts";
import { keyOf, openServer, type OpenServer } from "../servers.ts";
import { newFolder } from "../../support/new-folder.ts";

/** Ids of the events in a text of server-sent events. */
const idsIn = (text: string) => [...text.matchAll(/^id: (.+)$/gm)].map(([, id = ""]) => id);

async function stream(door: OpenServer, id: string, after?: string): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const response = await door.server.fetch(
    new Request(`http://localhost/v1/executions/${id}/events`, {
      headers: { authorization: `Bearer ${keyOf("ann")}`, ...(after === undefined ? {} : { "last-event-id": after }) },
    }),
  );
  if (!response.body) throw new Error(`no stream: ${response.status}`);
  return response.body.getReader();
}

/** Reads a stream until its text has this, and gives the text. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, part: RegExp, before = ""): Promise<string> {
  let text = before;
  while (!part.test(text)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(text);
    text += new TextDecoder().decode(value);
  }
  return text;
}

test("events come as they happen", async () => {
  await using door = await openServer();
  const program = "console.log('before'); await tools.crm.slow({}); console.log('after'); return 1";
  await door.run({ program, id: "live", wait: false });
  const reader = await stream(door, "live");
  const text = await readUntil(reader, /call_started/);
  expect(text).toContain("before");
  expect(text).not.toContain("after");
  door.slow.release();
  await readUntil(reader, /execution_ended/, text);
  expect((await reader.read()).done).toBe(true);
});

test("a client that reconnects after any event gets the later events, each once", async () => {
  await using door = await openServer();
  const program =
    "console.log('a'); await tools.crm.find({}); console.log('b'); await Promise.all([tools.crm.find({}), tools.crm.find({})]); return 1";
  await door.run({ program, id: "e" });
  const all = idsIn((await door.ask("GET", "/v1/executions/e/events")).text);
  expect(all.length).toBeGreaterThan(8);
  for (const [index, id] of all.entries()) {
    const rest = await door.ask("GET", "/v1/executions/e/events", { headers: { "last-event-id": id } });
    if (index === all.length - 1) expect(rest.status).toBe(204);
    else expect(idsIn(rest.text)).toEqual(all.slice(index + 1));
  }
});

test("a client reconnects after a restart of the server without losing or repeating an event", async () => {
  const folder = newFolder(onTestFinished);
  using journal = createSqliteJournal({ path: join(folder, "j.db") });
  const body = { program: "await tools.crm.find({}); await tools.crm.slow({}); return 1", id: "e", wait: false };
  let first = "";
  {
    await using door = await openServer(undefined, { journal });
    await door.run(body);
    const reader = await stream(door, "e");
    await door.slow.begun();
    first = await readUntil(reader, /call_started[^]*call_started/);
    await door.server.close({ drainMs: 0 });
  }
  await using next = await openServer(undefined, { journal });
  next.slow.release();
  await next.server.recover();
  const seen = idsIn(first);
  const rest = await next.ask("GET", "/v1/executions/e/events", { headers: { "last-event-id": seen.at(-1) ?? "" } });
  const all = await next.ask("GET", "/v1/executions/e/events");
  expect([...seen, ...idsIn(rest.text)]).toEqual(idsIn(all.text));
  expect(rest.text).toContain("execution_ended");
});

test("a stream reads nothing ahead for a client that reads nothing", async () => {
  const journal = createMemoryJournal();
  let read = 0;
  await using door = await openServer(undefined, {
    journal: {
      ...journal,
      async *read(id, options) {
        for await (const record of journal.read(id, options)) {
          read += 1;
          yield record;
        }
      },
    },
  });
  const program =
    "for (let n = 0; n < 2000; n += 1) { console.log('x'.repeat(100)); await tools.crm.find({}); } return 1";
  await door.run({ program, id: "e" });
  read = 0;
  const reader = await stream(door, "e");
  for (let chunk = 0; chunk < 3; chunk += 1) await reader.read();
  const after = read;
  await new Promise((resolve) => setImmediate(resolve));
  expect(read).toBe(after);
  expect(read).toBeLessThan(1000);
  await reader.cancel();
});

testOfAll("the connection of a client that never reads is ended, and a slow reader gets everything", async () => {
  await using door = await openServer({ token: keyOf("tok"), idleMs: 300 });
  const { url } = await door.server.listen({ port: 0 });
  const program =
    "for (let n = 0; n < 20000; n += 1) { console.log('x'.repeat(900)); if (n % 10 === 0) await tools.crm.find({}); } return 1";
  const body = { program, id: "e", limits: { outputBytes: 2048 } };
  await door.run(body, keyOf("tok"));
  const { port } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write(
    `GET /v1/executions/e/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${keyOf("tok")}\r\n\r\n`,
  );
  await once(socket, "readable");
  // Nothing is read from here on, so the server's writes come to a stop.
  const metrics = async () => (await door.ask("GET", "/metrics", { key: keyOf("tok") })).text;
  await expect.poll(() => metrics()).toContain("portcullis_event_streams 0");
  socket.destroy();
  const events = await fetch(`${url}/v1/executions/e/events`, { headers: { authorization: `Bearer ${keyOf("tok")}` } });
  expect(await events.text()).toContain("execution_ended");
});

/** A stream of the events of `e`, for a client that may have them all. */
function open(journal: Journal, watch: JournalWatch, more: Partial<EventStreamParts>) {
  const { signal } = new AbortController();
  const given = {
    ids: tenantIds(journal),
    after: undefined,
    inTurn: <Value>(read: () => Promise<Value>) => read(),
  };
  const parts = { ...given, allowed: signal, signal, hold: () => {}, onError: () => {}, ...more };
  return eventStream({ journal, watch, execution: "e", tenant: "default", ...parts });
}

test("a line is sent where nothing happens for long, also while records are appended that are no events", async () => {
  const journal = createMemoryJournal();
  await journal.create(header("e"));
  using watch = journalWatch(journal);
  const closing = new AbortController();
  const alive = setInterval(() => watch.wake("e"), 5);
  const reader = open(journal, watch, { signal: closing.signal, heartbeatMs: 100 }).getReader();
  const text = await readUntil(reader, /(?:: still here[^]*){3}/);
  expect(idsIn(text)).toEqual(["0"]);
  clearInterval(alive);
  closing.abort();
  expect((await reader.read()).done).toBe(true);
});

test.each([
  ["execution_unknown", 0],
  ["journal_gone", 1],
] as const)("a stream that ends with %s says so, and tells the operator %i times", async (code, times) => {
  const memory = createMemoryJournal();
  await memory.create(header("e"));
  const journal: Journal = {
    ...memory,
    // eslint-disable-next-line require-yield
    async *read() {
      throw new PortcullisError(code, "/secret/path is lost.");
    },
  };
  using watch = journalWatch(journal);
  const errors: unknown[] = [];
  const stream = open(journal, watch, { onError: (error) => errors.push(error) });
  const text = await new Response(stream).text();
  expect(text).toContain(`event: error\ndata: {"error":{"code":"${code}"`);
  expect(text).not.toContain("secret");
  expect(errors).toHaveLength(times);
});

testOfAll(
  "streams of an execution with thousands of open calls count what they hold of them: a key gets as many as it may hold",
  async () => {
    await using door = await openServer();
    const program = "await Promise.all(Array.from({ length: 9000 }, () => tools.bank.pay({ amount: 1 }))); return 1";
    const begun = await door.run({ program, id: "e" });
    expect(begun.json.state).toBe("waiting");
    const readers: ReadableStreamDefaultReader<Uint8Array>[] = [];
    const last = async () => {
      const reader = await stream(door, "e");
      readers.push(reader);
      let text = "";
      while (!/^event: (?:execution_waiting|error)$/m.test(text)) {
        const { value = new Uint8Array(), done } = await reader.read();
        if (done) throw new Error("It has ended.");
        text = new TextDecoder().decode(value);
      }
      return text;
    };
    let said = "";
    while (readers.length < 40 && !said.includes("too_many_at_once")) said = await last();
    expect(said).toContain("too_many_at_once");
    expect(readers.length).toBeGreaterThan(3);
    for (const reader of readers.splice(0)) await reader.cancel();
    expect(await last()).toContain("execution_waiting");
    for (const reader of readers) await reader.cancel();
  },
);
