/*
 * Makes a journal that is hard to read, or reads one in a way of its own, and prints how the host stood it: by how many
 * bytes it had grown at most, and how long its thread was busy without a pause, in milliseconds of processor time. The
 * arguments are `make KIND FILE`, or `read WAY FILE`; with a further `beside`, it also prints what a large turn takes at once.
 */
import { hash, randomBytes } from "node:crypto";
import { z } from "zod";
import { createMemorySandbox } from "portcullis/testing";
import { createRuntime, createSqliteJournal, type Runtime } from "portcullis";
import { exportLines, type Header, type Journal, type JournalRecord } from "portcullis/journal";
import { createServer, type PortcullisServer } from "portcullis/serve";
import { makeTool } from "../support/tools.ts";

const KEY = "ann-0123456789abcdef";
const TENANT = "acme";
const PROGRAM = "return 1";
const AT = Date.now();
/** How the door over MCP begins the ids of a key. */
const MCP_PREFIX = `mcp-${hash("sha256", "ann").slice(0, 16)}-`;

// ---- journals ----------------------------------------------------------------------------------------------------

const header = (execution: string): Extract<Header, { readonly kind: "program" }> => ({
  type: "header",
  kind: "program",
  format: 1,
  execution,
  tenant: TENANT,
  startedAt: AT,
  language: "javascript",
  sandbox: "memory",
  program: PROGRAM,
  source: PROGRAM,
  tools: [],
  limits: { calls: 1_000_000, totalBytes: 2 ** 31, inputBytes: 2 ** 21, resultBytes: 2 ** 21, logBytes: 65_536 },
  versions: {},
});

const callHeader = (execution: string): Extract<Header, { readonly kind: "call" }> => {
  const { type, format, tenant, startedAt, tools, limits, versions } = header(execution);
  const called = { kind: "call", tool: "take", caller: "direct", input: "{}" } as const;
  return { type, format, execution, tenant, startedAt, tools, limits, versions, ...called };
};

const START = `{"kind":"start","protocol":1,"now":${AT},"seed":"${"0".repeat(32)}","limits":{"calls":9,"logBytes":9,"printedBytes":9,"frameBytes":9}}\n{"program":"","tools":[]}`;
const call = (id: number, body: string) => `{"kind":"call","id":${id},"tool":"take"}\n${body}`;
const answer = (id: number) => `{"kind":"answer","now":${AT},"id":${id},"ok":true}\n1`;
/** Cannot be compressed, and is like no other. */
const textOf = (bytes: number) => JSON.stringify({ value: randomBytes(bytes / 2).toString("hex") });
const decided = (id: number, decision: "allowed" | "held"): JournalRecord => ({
  type: "call",
  call: String(id),
  tool: "take",
  caller: "programmatic",
  decision,
  inputDigest: "ab",
  at: AT,
});

/** Calls of a megabyte, one after the other. The last one waits. */
function* largeCalls(calls: number): Generator<JournalRecord> {
  for (let id = 1; id <= calls; id += 1) {
    yield { type: "turn", event: id === 1 ? START : answer(id - 1), commands: [call(id, textOf(1_000_000))] };
    yield decided(id, id === calls ? "held" : "allowed");
    if (id < calls) yield { type: "answered", call: String(id), ok: true, ms: 1, bytes: 1, shape: "number", at: AT };
  }
}

/** One turn with calls that have not been decided. */
function* largeTurn(calls: number, bytes: number): Generator<JournalRecord> {
  yield {
    type: "turn",
    event: START,
    commands: Array.from({ length: calls }, (_, index) => call(index + 1, textOf(bytes))),
  };
}

const HOST_CALLS = "large values of hosts' calls";

/** Many calls that are held, each of a megabyte. */
function* heldCalls(calls: number): Generator<JournalRecord> {
  yield* largeTurn(calls, 1_000_000);
  for (let id = 1; id <= calls; id += 1) yield decided(id, "held");
}

function* manyRecords(count: number): Generator<JournalRecord> {
  yield { type: "turn", event: START, commands: [call(1, "{}")] };
  for (let n = 0; n < count; n += 1) yield decided(1, "held");
}

/** A stream of batches of 256 KB that its program still reads. The file holds each of a few batches once. */
function* openStream(batches: number): Generator<JournalRecord> {
  const bodies = Array.from({ length: 8 }, () => `[${Array.from({ length: 250 }, () => textOf(1000)).join()}]`);
  yield { type: "turn", event: START, commands: [call(1, "{}")] };
  yield decided(1, "allowed");
  for (let n = 0; n < batches; n += 1) {
    const body = bodies[n % bodies.length] ?? "";
    const head = `{"kind":"items","now":${AT},"id":1,"count":250,"bytes":${body.length}}`;
    yield { type: "turn", event: `${head}\n${body}`, commands: ['{"kind":"next","id":1}'] };
  }
}

/** The call of a host, whose value is in its outcome: millions of values. */
function* hostCall(values: number): Generator<JournalRecord> {
  yield decided(1, "allowed");
  yield { type: "answered", call: "1", ok: true, ms: 1, bytes: 3 * values, shape: "list", at: AT };
  yield { type: "outcome", outcome: `{"type":"completed","value":[${"[],".repeat(values)}1]}`, at: AT };
}

const KINDS: Readonly<Record<string, () => Iterable<readonly [id: string, records: Iterable<JournalRecord>]>>> = {
  "large calls": () => [["e", largeCalls(160)]],
  "a large turn": () => [["e", largeTurn(100_000, 500)]],
  "a turn of large calls": () => [["e", heldCalls(50)]],
  "a stream of 256 MB": () => [["e", openStream(1000)]],
  "many records": () => [["e", manyRecords(100_000)]],
  [HOST_CALLS]: () => ["e", "f", "g", "h"].map((id) => [id, hostCall(2_000_000)] as const),
  "forty programs": () => Array.from({ length: 40 }, (_, n) => [`${MCP_PREFIX}${n}`, heldCalls(12)] as const),
};

async function make(kind: string, journal: Journal): Promise<void> {
  for (const [execution, records] of KINDS[kind]?.() ?? []) {
    let head = await journal.create(kind === HOST_CALLS ? callHeader(execution) : header(execution));
    let batch: JournalRecord[] = [];
    for (const record of records) {
      batch.push(record);
      if (batch.length < 100) continue;
      head = await journal.append(execution, head, batch);
      batch = [];
    }
    if (batch.length > 0) await journal.append(execution, head, batch);
  }
}

// ---- ways to read ------------------------------------------------------------------------------------------------

interface Open {
  readonly journal: Journal;
  readonly runtime: Runtime;
  readonly server: PortcullisServer;
}

function send({ server }: Open, method: string, path: string, body?: unknown, more: object = {}): Promise<Response> {
  const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  const headers = { authorization: `Bearer ${KEY}`, ...type, ...more };
  return server.fetch(new Request(`http://localhost${path}`, { method, headers, body: JSON.stringify(body) }));
}

async function ask(open: Open, method: string, path: string, body?: unknown): Promise<string> {
  const response = await send(open, method, `/v1/executions${path}`, body);
  return `${response.status} ${(await response.text()).slice(0, 200)}`;
}

/** Records that each stream is read of. */
const STREAMED = 30;

/** Reads streams until each has told of so many records, or of the last one. */
async function streams(open: Open, count: number): Promise<string> {
  const { records } = await open.journal.find("e");
  const read = async () => {
    const response = await send(open, "GET", "/v1/executions/e/events");
    let seen = 0;
    for await (const chunk of response.body ?? []) {
      for (const [, id] of new TextDecoder().decode(chunk).matchAll(/^id: (\d+)/gm)) seen = Number(id);
      if (seen >= Math.min(records - 3, STREAMED)) break;
    }
    return seen;
  };
  return String(Math.min(...(await Promise.all(Array.from({ length: count }, read)))));
}

async function results(open: Open, ids: readonly string[]): Promise<string> {
  const accept = "application/json, text/event-stream";
  const post = (body: object, session?: string | null) =>
    send(open, "POST", "/mcp", { jsonrpc: "2.0", ...body }, { accept, ...(session && { "mcp-session-id": session }) });
  const begun = await post({
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  });
  const session = begun.headers.get("mcp-session-id");
  await begun.text();
  await (await post({ method: "notifications/initialized" }, session)).text();
  const answers = await Promise.all(
    ids.map(async (execution, index) => {
      const params = { name: "result", arguments: { execution } };
      return (await post({ id: index + 2, method: "tools/call", params }, session)).text();
    }),
  );
  return answers[0]?.slice(0, 300) ?? "";
}

const WAYS: Readonly<Record<string, (open: Open) => Promise<unknown>>> = {
  status: (open) => ask(open, "GET", "/e"),
  view: (open) => ask(open, "GET", "/e/view"),
  call: (open) => ask(open, "GET", "/e/calls/1"),
  list: (open) => ask(open, "GET", ""),
  "the decision of an unknown call": (open) =>
    ask(open, "POST", "/e/decisions", { decisions: { 999_999: { allow: true } } }),
  "the same execute": (open) => ask(open, "POST", "", { program: PROGRAM, id: "e" }),
  events: (open) => ask(open, "GET", "/e/events"),
  "an unknown value": (open) => ask(open, "GET", "/e/artifacts/none"),
  "forty streams": (open) => streams(open, 40),
  "forty results over MCP": (open) =>
    results(
      open,
      Array.from({ length: 40 }, (_, n) => `${MCP_PREFIX}${n}`),
    ),
  recover: async ({ runtime }) => {
    const seen: unknown[] = [];
    for await (const one of runtime.recover({})) seen.push("error" in one ? one.error.message : one.outcome.type);
    return seen;
  },
  export: async ({ journal }) => {
    let length = 0;
    for await (const line of exportLines(journal, ["e"])) length += line.length;
    return length;
  },
};

// ---- how the host stands it ----------------------------------------------------------------------------------------

const busyMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Processor time of a large turn that is encoded and parsed at once: what no reader may keep the thread for. */
function atOnceMs(): number {
  const [turn] = largeTurn(100_000, 500);
  const rounds = Array.from({ length: 3 }, () => {
    const before = busyMs();
    JSON.parse(JSON.stringify(turn));
    return busyMs() - before;
  });
  return Math.min(...rounds);
}

const [, , what, name = "", file = "", beside] = process.argv;
const journal = createSqliteJournal({ path: file });
if (what === "make") await make(name, journal);
else {
  const take = makeTool({
    name: "take",
    inputSchema: z.object({ value: z.string() }),
    effect: "write",
    approval: "always",
    execute: () => 1,
  });
  const sandbox = createMemorySandbox();
  const runtime = await createRuntime({ tools: [take], journal, sandbox, approve: () => "later" });
  const server = await createServer(runtime, { keys: { keys: [{ id: "ann", key: KEY, tenant: TENANT }] } });
  const open = { journal, runtime, server };
  // What is loaded on demand is loaded before it is measured.
  await ask(open, "POST", "", { program: "return 2", id: "small" });
  await ask(open, "GET", "/small/view");
  await (await import("node:timers/promises")).setTimeout(200);
  const before = process.memoryUsage.rss();
  let last = busyMs();
  let longest = 0;
  let grown = 0;
  const look = () => {
    const now = busyMs();
    longest = Math.max(longest, now - last);
    last = now;
    grown = Math.max(grown, process.memoryUsage.rss() - before);
  };
  const timer = setInterval(look, 1);
  const result = await WAYS[name]?.(open);
  look();
  clearInterval(timer);
  const told = { grownBytes: grown, longestMs: longest, ...(beside && { atOnceMs: atOnceMs() }), result };
  process.stdout.write(`${JSON.stringify(told)}\n`);
  process.exit(0);
}
journal[Symbol.dispose]();
