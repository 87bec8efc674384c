import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFleet } from "../../src/fleet/index.ts";
import { createRuntime, PortcullisError, type Runtime } from "../../src/index.ts";
import { createPostgresJournal } from "../../src/journal/postgres/postgres-journal.ts";
import { workerKeyOf } from "../../src/owners/worker-key.ts";
import { createMemorySandbox } from "../../src/testing.ts";
import { isWritten, SHAPES } from "../durability/shapes.ts";
import { noPostgres, PostgresServer } from "../postgres-support/postgres-server.ts";
import { ALL_TESTS } from "../support/all-tests.ts";
import { memoryFolder } from "../support/memory-folder.ts";
import { LEASE_MS, OWNER_SECRET, STOPPED_MS } from "./owner-kill-cases.ts";

/** What is submitted, and what happens meanwhile, in turn. */
const STORM = ALL_TESTS
  ? { workers: 3, submissions: 80, ownerKills: 12, ownerStops: 4, workerKills: 8, workerStops: 2 }
  : { workers: 2, submissions: 16, ownerKills: 3, ownerStops: 1, workerKills: 2, workerStops: 0 };

/** An owner's tools do not stream. */
const PROGRAMS = SHAPES.filter(({ program }) => !program.includes("tools.rows"));

const FAILURES: ReadonlySet<string> = new Set(["handler_timed_out", "source_unavailable"]);

const children = new Set<ChildProcess>();

async function start(script: string, ...args: readonly string[]): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), args, {
    execArgv: ["--conditions=portcullis-source", "--no-warnings"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  await Promise.race([
    once(child, "message"),
    once(child, "exit").then(() => Promise.reject(new Error(`${script} has ended.`))),
  ]);
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

async function stopFor(child: ChildProcess, ms: number): Promise<void> {
  child.kill("SIGSTOP");
  await delay(ms);
  child.kill("SIGCONT");
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

describe.skipIf(noPostgres)("owners and workers that die", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 120_000);
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    await server[Symbol.asyncDispose]();
  }, 60_000);

  test(
    `${STORM.submissions} programs, ${STORM.ownerKills} kills and ${STORM.ownerStops} stops of their owner, ${STORM.workerKills} kills of workers: all end, and no write is made twice without a decision`,
    { timeout: 900_000 },
    async () => {
      const since = performance.now();
      await server.sql("CREATE DATABASE owned");
      const database = server.url({ database: "owned" });
      const folder = memoryFolder("portcullis-owners-");
      const effects = join(folder, "effects");
      writeFileSync(effects, "");
      await using stack = new AsyncDisposableStack();
      stack.defer(() => rmSync(folder, { recursive: true, force: true }));
      const journal = stack.use(createPostgresJournal({ url: database }));
      const runtime = stack.use(
        await createRuntime({
          tools: [],
          fleet: stack.use(createFleet({ journal, onError: () => {} })),
          sandbox: createMemorySandbox(),
          approve: () => "later",
          leaseMs: LEASE_MS,
        }),
      );
      const port = String(await freePort());
      const url = `http://127.0.0.1:${port}`;
      const people = new People(runtime, effects);
      const storm = async () => {
        const startOwner = () => start("kill-owner.ts", port, effects);
        const startWorker = () => start("kill-owned-worker.ts", database, url, workerKeyOf(OWNER_SECRET));
        let owner = await startOwner();
        const workers = await Promise.all(Array.from({ length: STORM.workers }, startWorker));
        const blows = blowsOf(STORM);
        const submitSome = async (part: number) => {
          const until = Math.ceil(STORM.submissions * part);
          while (people.ids.length < until) {
            const { program } = PROGRAMS[people.ids.length % PROGRAMS.length] as (typeof PROGRAMS)[number];
            people.ids.push(
              await runtime.submit(program, { execution: `e${people.ids.length}`, owner: { url, key: OWNER_SECRET } }),
            );
          }
        };
        for (const [index, blow] of blows.entries()) {
          // With the owner there, so that programs can be submitted with it.
          await submitSome((index + 1) / blows.length);
          await untilWriting(effects);
          await delay(Math.random() * 80);
          const chosen = Math.floor(Math.random() * workers.length);
          const worker = workers[chosen] as ChildProcess;
          if (blow === "ownerKills") {
            await kill(owner);
            owner = await startOwner();
          } else if (blow === "ownerStops") await stopFor(owner, STOPPED_MS);
          else if (blow === "workerStops") await stopFor(worker, 2 * LEASE_MS);
          else {
            await kill(worker);
            workers[chosen] = await startWorker();
          }
        }
        people.hasAll = true;
      };
      await Promise.all([storm(), people.decideUntilEnded()]);
      const unknown = await judge(runtime, people, effects);
      for (const child of children) child.kill("SIGKILL");
      const seconds = Math.round((performance.now() - since) / 1000);
      process.stdout.write(
        `${people.ids.length} executions, ${STORM.ownerKills} kills and ${STORM.ownerStops} stops of the owner, ${STORM.workerKills} kills of workers, ${unknown} writes of unknown outcome: ${seconds} s\n`,
      );
    },
  );
});

/** Resolves in the midst of a write, if one begins soon. */
async function untilWriting(effects: string): Promise<void> {
  const until = Date.now() + 3000;
  const count = (text: string, end: string) => text.split(`${end}\n`).length;
  for (;;) {
    const text = readFileSync(effects, "utf8");
    if (count(text, " begin") > count(text, " write") || Date.now() > until) return;
    await delay(5);
  }
}

type Blow = "ownerKills" | "ownerStops" | "workerKills" | "workerStops";

/** All that happens, mixed. */
function blowsOf(storm: Readonly<Record<Blow, number>>): readonly Blow[] {
  const kinds: readonly Blow[] = ["ownerKills", "workerKills", "ownerStops", "workerStops"];
  const most = Math.max(...kinds.map((kind) => storm[kind]));
  return Array.from({ length: most }, (_, round) => kinds.filter((kind) => round < storm[kind])).flat();
}

/** Decides and answers what waits, as a person would who can see what was written. */
class People {
  readonly ids: string[] = [];
  hasAll = false;
  /** How often it was allowed to make a call of unknown outcome again, by its idempotency key. */
  readonly again = new Map<string, number>();
  unknown = 0;
  readonly #runtime: Runtime;
  readonly #effects: string;

  constructor(runtime: Runtime, effects: string) {
    this.#runtime = runtime;
    this.#effects = effects;
  }

  async decideUntilEnded(): Promise<void> {
    const ended = new Set<string>();
    let deadline = Number.POSITIVE_INFINITY;
    while (!this.hasAll || ended.size < this.ids.length) {
      if (this.hasAll) deadline = Math.min(deadline, Date.now() + 120_000);
      const open = this.ids.filter((id) => !ended.has(id));
      for (const id of open) {
        const status = await this.#runtime.status(id);
        if (status.listed.state === "ended") ended.add(id);
        if (status.listed.state === "waiting") await this.#decide(id, status).catch(ignoreRaces);
      }
      if (Date.now() > deadline) {
        const stuck = await Promise.all(open.slice(0, 5).map((id) => this.#runtime.status(id)));
        throw new Error(`${open.length} executions did not end:\n${JSON.stringify(stuck, undefined, 1)}`);
      }
      await delay(50);
    }
  }

  async #decide(id: string, { report }: Awaited<ReturnType<Runtime["status"]>>): Promise<void> {
    const waiting = report?.outcome;
    if (waiting?.type !== "waiting") return;
    for (const { callId, inputDigest, why } of waiting.approvals) {
      const key = `${id}:${callId}:${inputDigest}`;
      const isUnknown = why === "outcome_unknown";
      const isDone = isUnknown && isWritten(readFileSync(this.#effects, "utf8"), key);
      if (isUnknown) this.unknown += 1;
      // Counted before: it may be made as soon as it is decided.
      if (isUnknown && !isDone) this.again.set(key, (this.again.get(key) ?? 0) + 1);
      await this.#runtime.decide(id, { [callId]: isDone ? { done: { value: key } } : { allow: true } });
    }
    const results = Object.fromEntries(waiting.calls.map(({ callId }) => [callId, { value: 7 }]));
    if (waiting.calls.length > 0) await this.#runtime.answer(id, results);
  }
}

function ignoreRaces(error: unknown): void {
  const codes = ["decision_exists", "call_unknown", "head_moved", "execution_driven"];
  if (!PortcullisError.is(error) || !codes.includes(error.code)) throw error;
}

/** Holds every execution to the promise. Returns how many writes had an unknown outcome. */
async function judge(runtime: Runtime, { ids, again, unknown }: People, effects: string): Promise<number> {
  const times = new Map<string, number>();
  let failed = 0;
  for (const line of readFileSync(effects, "utf8").split("\n"))
    if (line.endsWith(" write")) times.set(line.slice(0, -6), (times.get(line.slice(0, -6)) ?? 0) + 1);
  for (const [key, count] of times)
    expect(count, `${key} was written without a decision`).toBeLessThanOrEqual(1 + (again.get(key) ?? 0));
  for (const [index, id] of ids.entries()) {
    const { report } = await runtime.status(id);
    const { value, writes } = PROGRAMS[index % PROGRAMS.length] as (typeof PROGRAMS)[number];
    const { outcome } = report ?? {};
    // An owner that was stopped for longer than a tool may take has timed its handler out, as any process would; and one
    // that starts for longer than `ownerMs` has not been there for a write.
    if (outcome?.type === "failed" && FAILURES.has(outcome.fault.code ?? "")) {
      failed += 1;
      continue;
    }
    expect(outcome, id).toEqual({ type: "completed", value });
    const written = [...times.keys()].filter((key) => key.startsWith(`${id}:`)).length;
    expect(written, `writes of ${id}`).toBe(writes);
    const outcomes = await Array.fromAsync(runtime.journal.read(id));
    expect(
      outcomes.filter(({ type }) => type === "outcome"),
      id,
    ).toHaveLength(1);
  }
  expect(failed).toBeLessThanOrEqual(ids.length / 4);
  return unknown;
}
