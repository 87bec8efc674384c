import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { createFleet, type Fleet } from "../../src/fleet/index.ts";
import { createRuntime, PortcullisError, type Runtime } from "../../src/index.ts";
import type { Journal, JournalRecord } from "../../src/journal/index.ts";
import { readPast } from "../../src/executions/from-journal/past-execution.ts";
import { ANSWER, CONVERSATION, decisionsOf, driverOptions, model, resultsOf } from "../durability/drivers.ts";
import { SHAPES } from "../durability/shapes.ts";
import { memoryFolder } from "../support/memory-folder.ts";
import { createPostgresJournal } from "../../src/fleet/postgres/postgres-journal.ts";
import { noPostgres } from "../postgres-support/postgres-server.ts";
import { usePostgres } from "../postgres-support/use-postgres.ts";

const KILLS = Number(process.env["KILLS"] ?? 50);
/** What is submitted, and what happens meanwhile. */
const STORM = {
  workers: 3,
  submissions: 6 * KILLS,
  kills: KILLS,
  /** Workers that are stopped for longer than their leases, and continued. */
  zombies: Math.ceil(KILLS / 16),
  restarts: Math.ceil(KILLS / 10),
  /** How often the tables of the queue are emptied. */
  losses: Math.ceil(KILLS / 25),
  /** How far the clock of the first worker is ahead. */
  clockMs: 600_000,
};
/** One in so many is a conversation. */
const CONVERSATION_EVERY = 10;
const LEASE_MS = 1500;
/** Executions that have not ended hang if none of them changes for so long after the last kill, in milliseconds. */
const STILL_MS = 180_000;

const SCRIPT = fileURLToPath(new URL("kill-worker.ts", import.meta.url));
const children = new Set<ChildProcess>();

function startWorker(url: string, effects: string, clockMs: number): ChildProcess {
  const child = fork(SCRIPT, [url, effects, `${clockMs}`, `${LEASE_MS}`], {
    execArgv: ["--conditions=portcullis-source", "--no-warnings"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  child.stderr?.on("data", (chunk: Buffer) => {
    printed += chunk.toString();
  });
  return child;
}

let printed = "";

describe.skipIf(noPostgres)("a fleet on PostgreSQL whose workers die", () => {
  const server = usePostgres();
  afterAll(() => {
    for (const child of children) child.kill("SIGKILL");
  });

  test(
    `${STORM.submissions} programs and conversations, ${STORM.kills} kills: nothing is lost, and no write made twice without a decision`,
    { timeout: 3_600_000 },
    async () => {
      const since = performance.now();
      await server.sql("CREATE DATABASE storm");
      const url = server.url({ database: "storm" });
      const folder = memoryFolder("portcullis-fleet-");
      const effects = join(folder, "effects");
      writeFileSync(effects, "");
      await using stack = new AsyncDisposableStack();
      stack.defer(() => rmSync(folder, { recursive: true, force: true }));
      const open = async () => {
        const journal = stack.use(createPostgresJournal({ url, unavailableMs: 30_000 }));
        const fleet: Fleet = stack.use(createFleet({ journal, onError: () => {} }));
        return stack.use(await openServer(fleet, effects));
      };
      // Two servers, which take turns.
      const servers = [await open(), await open()] as const;
      let turn = 0;
      const any = () => servers[(turn += 1) % 2] as Runtime;
      const all: string[] = [];
      const submitSome = async (part: number) => {
        const begin = async (index: number) => {
          const conversation = index % CONVERSATION_EVERY === 0;
          const execution = `${conversation ? "c" : "e"}${index}`;
          if (conversation) await lasting(() => any().agent({ model, task: "Work.", id: execution }));
          else {
            const runtime = any();
            await lasting(() => runtime.fleet!.submit(runtime, programOf(index), { id: execution }));
          }
          all.push(execution);
        };
        const until = Math.ceil(STORM.submissions * Math.min(1, part));
        await Promise.all(Array.from({ length: until - all.length }, (_, index) => begin(all.length + index)));
      };
      const storm = raise(url, effects, any, submitSome);
      await untilEnded(any, all, effects, storm.isOver);
      const done = await storm.done;
      const after = Math.round((performance.now() - done.overAt) / 1000);
      const { journal } = servers[0];
      const givenUp = await judge(journal, effects);
      const seconds = Math.round((performance.now() - since) / 1000);
      process.stdout.write(
        `${all.length} executions, ${done.kills} kills, ${done.zombies} stops, ${done.restarts} restarts of PostgreSQL, ${done.losses} losses of the queue, ${givenUp} given up: ${seconds} s, ${after} of them after the last kill\n`,
      );
    },
  );

  /** Submits, kills, stops, restarts and loses, all through the time. */
  function raise(url: string, effects: string, any: () => Runtime, submitSome: (part: number) => Promise<void>) {
    const done = { kills: 0, zombies: 0, restarts: 0, losses: 0 };
    let isOver = false;
    let overAt = 0;
    /** Workers that work, in the order in which they began to. */
    const working: { readonly worker: ChildProcess; readonly clockMs: number }[] = [];
    let begun = Promise.withResolvers<void>();
    const begin = async (clockMs: number) => {
      const worker = startWorker(url, effects, clockMs);
      await Promise.race([once(worker, "message"), once(worker, "exit")]);
      working.push({ worker, clockMs });
      begun.resolve();
    };
    const next = async () => {
      for (;;) {
        const found = working.splice(Math.floor(Math.random() * working.length), 1)[0];
        if (found) return found;
        begun = Promise.withResolvers();
        await begun.promise;
      }
    };
    const rounds = async () => {
      for (let index = 0; index < STORM.workers; index += 1) void begin(index === 0 ? STORM.clockMs : 0);
      for (; done.kills < STORM.kills; done.kills += 1) {
        const { worker, clockMs } = await next();
        const part = (done.kills + 1) / STORM.kills;
        await submitSome(part);
        await delay(Math.random() * 300);
        if (done.zombies < STORM.zombies * part) {
          done.zombies += 1;
          worker.kill("SIGSTOP");
          await delay(LEASE_MS * 2);
          worker.kill("SIGCONT");
        }
        if (done.restarts < STORM.restarts * part) {
          done.restarts += 1;
          await server.kill();
          await server.start();
        }
        if (done.losses < STORM.losses * part) {
          done.losses += 1;
          await loseWakes(any());
        }
        worker.kill("SIGKILL");
        void begin(clockMs);
      }
    };
    const ended = rounds().finally(() => {
      isOver = true;
      overAt = performance.now();
    });
    ended.catch(() => {});
    return { isOver: () => isOver, done: ended.then(() => ({ ...done, overAt })) };
  }
});

function programOf(index: number): string {
  return (SHAPES[index % SHAPES.length] as (typeof SHAPES)[number]).program;
}

function openServer(fleet: Fleet, effects: string): Promise<Runtime> {
  return createRuntime({ ...driverOptions(effects), fleet, leaseMs: LEASE_MS });
}

async function loseWakes(runtime: Runtime): Promise<void> {
  const { store } = runtime.journal as Journal & { readonly store: { query: (text: string) => Promise<unknown> } };
  await lasting(() => store.query("TRUNCATE portcullis_queue.job"));
}

/** Tries again while PostgreSQL restarts. */
async function lasting<Value>(work: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await work();
    } catch (error) {
      if (attempt === 50 || (PortcullisError.is(error) && !error.code.startsWith("journal_"))) throw error;
      await delay(200);
    }
}

/**
 * Decides what waits, as a person would, until all have ended. How long that takes says how busy the machine is: only
 * when nothing changes any more something hangs.
 */
async function untilEnded(
  any: () => Runtime,
  ids: readonly string[],
  effects: string,
  isAll: () => boolean,
): Promise<void> {
  const ended = new Set<string>();
  const known = new Map<string, string>();
  let changedAt = Date.now();
  for (;;) {
    const isOver = isAll();
    const open = ids.filter((id) => !ended.has(id));
    if (open.length === 0 && isOver) return;
    for (const id of open) {
      const status = await lasting(() => any().execution(id).status());
      const { state, records } = status.listed;
      const now = `${state} ${records} ${status.conversation?.calls.length}`;
      if (known.get(id) !== now || !isOver) changedAt = Date.now();
      known.set(id, now);
      if (state === "ended") ended.add(id);
      if (state !== "waiting") continue;
      const hasDecided = await decideWaiting(any(), id, status, effects).catch(ignoreRaces);
      if (hasDecided) changedAt = Date.now();
    }
    if (Date.now() > changedAt + STILL_MS) {
      const stuck = await Promise.all(open.slice(0, 5).map((id) => any().execution(id).status()));
      const listed = stuck.map((status) => JSON.stringify(status.listed)).join("\n");
      const whole = JSON.stringify(stuck, undefined, 1);
      throw new Error(`${open.length} executions did not end:\n${listed}\n${whole}\n${printed}`);
    }
    await delay(50);
  }
}

/** Resolves with whether it has decided or answered. */
async function decideWaiting(
  runtime: Runtime,
  id: string,
  { report, conversation }: Awaited<ReturnType<ReturnType<Runtime["execution"]>["status"]>>,
  effects: string,
): Promise<boolean> {
  const waiting = report?.outcome ?? conversation?.ending;
  if (waiting?.type !== "waiting") return false;
  if (waiting.approvals.length > 0) await runtime.execution(id).decide(decisionsOf(id, waiting.approvals, effects));
  if (waiting.calls.length > 0) await runtime.execution(id).answer(resultsOf(waiting.calls));
  return waiting.approvals.length + waiting.calls.length > 0;
}

function ignoreRaces(error: unknown): false {
  const codes = ["decision_exists", "call_unknown", "head_moved", "execution_driven"];
  if (!PortcullisError.is(error) || (!codes.includes(error.code) && !error.code.startsWith("journal_"))) throw error;
  return false;
}

/** Holds every execution to the promise. Returns how many were given up after three deaths in a row. */
async function judge(journal: Journal, effects: string): Promise<number> {
  let givenUp = 0;
  let writes = 0;
  const written = readFileSync(effects, "utf8")
    .split("\n")
    .filter((line) => line.endsWith(" write"));
  expect(written.toSorted(), "a write was made twice").toEqual([...new Set(written)].toSorted());
  for await (const { execution, kind } of journal.list()) {
    const records = await Array.fromAsync(journal.read(execution));
    const outcomes = records.flatMap((record) => (record.type === "outcome" ? [record.outcome] : []));
    expect(outcomes, execution).toHaveLength(1);
    expect(records.at(-1)?.type, execution).toBe("outcome");
    if (outcomes[0]?.includes("hosts died in a row")) {
      givenUp += 1;
      continue;
    }
    if (kind === "conversation") {
      expect(outcomes[0], execution).toContain(JSON.stringify(ANSWER).slice(1, -1));
      writes += CONVERSATION.writes - 1;
      const messages = records.filter((record) => record.type === "message" && record.from === "model");
      expect(messages, execution).toHaveLength(CONVERSATION.turns);
    } else {
      writes += await judgeProgram(execution, records);
    }
  }
  expect(written.length, "writes").toBeGreaterThanOrEqual(writes);
  return givenUp;
}

/** Returns the number of writes that the program makes. */
async function judgeProgram(execution: string, records: readonly JournalRecord[]): Promise<number> {
  const { state } = await readPast(records);
  expect(state.end.outcome, execution).toContain('"completed"');
  const source = state.header?.kind === "program" ? state.header.source : "";
  const shape = SHAPES.find(({ program }) => program === source);
  if (!shape) return 1;
  expect(JSON.parse(state.end.settled?.body ?? "null"), `${execution}: ${source}`).toEqual(shape.value);
  return shape.writes;
}
