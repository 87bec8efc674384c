import { setTimeout } from "node:timers/promises";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { createRuntime, type Tool } from "../../../../src/index.ts";
import { createMemoryJournal, type Journal, type JournalRecord } from "../../../../src/journal/index.ts";
import { createMemorySandbox } from "../../../../src/testing.ts";
import { type Arrived, ALL, operationOf, sendJson, sourceOf, startServer } from "../api-server.ts";

const ID = "orders";
const PROGRAM = "const read = []; for await (const item of tools.api.call({})) read.push(item); return read;";
const ITEMS = 6;
const sandbox = createMemorySandbox();

const numbers = (from: number) => Array.from({ length: ITEMS - from }, (_, index) => from + index + 1);

/** Sends texts so far apart that each is a batch. */
async function sendSlowly(response: ServerResponse, mediaType: string, texts: readonly string[]): Promise<void> {
  response.writeHead(200, { "content-type": mediaType });
  for (const text of texts) {
    response.write(text);
    await setTimeout(70);
  }
  response.end();
}

/** Servers of a stream, by how it goes on. */
const KINDS: readonly (readonly [string, string, object, (request: Arrived, response: ServerResponse) => void])[] = [
  [
    "events, after the last id",
    "text/event-stream",
    {},
    ({ headers }, response) =>
      void sendSlowly(
        response,
        "text/event-stream",
        numbers(Number(headers["last-event-id"] ?? 0)).map((n) => `id: ${n}\ndata: ${n}\n\n`),
      ),
  ],
  [
    "lines, from the start",
    "application/x-ndjson",
    {},
    (_, response) =>
      void sendSlowly(
        response,
        "application/x-ndjson",
        numbers(0).map((n) => `${n}\n`),
      ),
  ],
  [
    "pages, from the start",
    "application/json",
    { paginate: { next: { link: true } } },
    ({ url }, response) => {
      const page = Number(new URL(url, "http://localhost").searchParams.get("page") ?? 1);
      const headers = page < ITEMS ? { link: `</x?page=${page + 1}>; rel="next"` } : {};
      void setTimeout(70).then(() => sendJson(response, [page], 200, headers as Record<string, string>));
    },
  ],
];

/** A journal as a host left it that died after these records. */
async function journalOf([header, ...others]: readonly JournalRecord[]): Promise<Journal> {
  const journal = createMemoryJournal();
  if (header?.type !== "header") throw new Error("The first record is the header.");
  await journal.create(header);
  await journal.append(ID, 1, others);
  return { ...journal, find: async (id) => ({ ...(await journal.find(id)), lease: { driver: "dead", until: 0 } }) };
}

const runtimeOf = (tools: readonly Tool[], journal: Journal) =>
  createRuntime({ tools, journal, sandbox, logger: { error: () => {} } });

test.each(KINDS)("a stream whose host dies goes on: %s", { timeout: 60_000 }, async (_, mediaType, policy, answer) => {
  await using server = await startServer(answer);
  const spec = operationOf({ responses: { 200: { content: { [mediaType]: {} } } } });
  const { tools } = await sourceOf(spec, { baseUrl: server.baseUrl }, { ...ALL, ...policy });
  const journal = createMemoryJournal();
  await using first = await runtimeOf(tools, journal);
  const { outcome } = await first.execute(PROGRAM, { execution: ID });
  const values = mediaType === "text/event-stream" ? numbers(0).map((n) => ({ id: String(n), data: n })) : numbers(0);
  expect(outcome).toEqual({ type: "completed", value: values });
  const records = await Array.fromAsync(journal.read(ID));
  const cuts = records.length - 2;
  expect(cuts).toBeGreaterThan(ITEMS);
  const resumed = await Promise.all(
    Array.from({ length: cuts }, async (__, cut) => {
      await using runtime = await runtimeOf(tools, await journalOf(records.slice(0, cut + 2)));
      return (await runtime.resume(ID)).outcome;
    }),
  );
  expect(resumed).toEqual(resumed.map(() => outcome));
});
