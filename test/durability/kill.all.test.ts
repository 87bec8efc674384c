import { type ChildProcess, fork, type ForkOptions } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { createSqliteJournal } from "../../src/index.ts";
import type { JournalRecord } from "../../src/journal/index.ts";
import { pastTurns } from "../../src/executions/from-journal/read-turns.ts";
import { readPast } from "../../src/executions/from-journal/past-execution.ts";
import { ALL_TESTS } from "../support/all-tests.ts";
import { memoryFolder } from "../support/memory-folder.ts";
import { POINTS } from "./points.ts";
import { SHAPES } from "./shapes.ts";

const KILLS = Number(process.env.KILLS ?? 100);
const EXECUTIONS = 200;
/** Several leases. */
const STOPPED_MS = 1000;
const STOPS = 3;
const LOCKS = 5;
/** How long a driver waits for a lock, and the longest lock: some are longer than any driver waits, and than its lease. */
const LOCK_TIMEOUT_MS = 400;
const LOCK_MS = 1000;
const scriptOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const TIME = { timeout: 300_000 };
const PROCESS: ForkOptions = {
  execArgv: ["--conditions=portcullis-source", "--no-warnings"],
  stdio: ["ignore", "ignore", "pipe", "ipc"],
};

const folders: string[] = [];
const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFiles() {
  const folder = memoryFolder("portcullis-kill-");
  folders.push(folder);
  const effects = join(folder, "effects");
  writeFileSync(effects, "");
  return { journal: join(folder, "journal.db"), effects };
}

type Files = ReturnType<typeof newFiles>;

function startWorker({ journal, effects }: Files, point = "", lockTimeoutMs = 10_000): ChildProcess {
  return start("worker.ts", [journal, effects, `${EXECUTIONS}`, `${lockTimeoutMs}`, point]);
}

function start(script: string, args: readonly string[]): ChildProcess {
  const child = fork(scriptOf(script), args, PROCESS);
  children.add(child);
  child.once("exit", () => children.delete(child));
  child.stderr?.on("data", (chunk: Buffer) => printed.set(child, `${printed.get(child) ?? ""}${chunk.toString()}`));
  return child;
}

/** What each process wrote to its standard error. */
const printed = new WeakMap<ChildProcess, string>();

/** Resolves with the exit code; null if it was killed. */
async function exitOf(worker: ChildProcess): Promise<number | null> {
  if (worker.exitCode !== null || worker.signalCode !== null) return worker.exitCode;
  // "close" comes when its standard error has been read to the end.
  const [code] = (await once(worker, "close")) as [number | null];
  return code;
}

/** Holds every execution of a journal to the promise. Returns how many were given up after three deaths in a row. */
async function judge({ journal: path, effects }: Files): Promise<number> {
  let givenUp = 0;
  using journal = createSqliteJournal({ path });
  expect(await Array.fromAsync(journal.check())).toEqual([]);
  const listed = await Array.fromAsync(journal.list());
  expect(listed).toHaveLength(EXECUTIONS);
  const { begun, written } = readEffects(effects);
  expect(Math.max(0, ...written.values()), "a write was made twice").toBeLessThanOrEqual(1);
  for (const { execution } of listed) {
    const records = await Array.fromAsync(journal.read(execution));
    const outcomes = ofType(records, "outcome").map(({ outcome }) => outcome);
    expect(outcomes, execution).toHaveLength(1);
    expect(records.at(-1)?.type, execution).toBe("outcome");
    judgeCalls(execution, records, begun);
    if (isGivenUp(records)) {
      givenUp += 1;
      continue;
    }
    expect(outcomes, execution).toEqual(['{"type":"completed"}']);
    const { state } = await readPast(records);
    const source = state.header?.kind === "program" ? state.header.source : "";
    const shape = SHAPES.find(({ program }) => program === source);
    expect(JSON.parse(state.end.settled?.body ?? "null"), `${execution}: ${source}`).toEqual(shape?.value);
    const writes = [...written.keys()].filter((key) => key.startsWith(`${execution}:`));
    expect(writes, `${execution}: ${source}`).toHaveLength(shape?.writes ?? 0);
  }
  return givenUp;
}

/** How often the handlers of writes began and took effect, by idempotency key. */
function readEffects(path: string) {
  const [begun, written] = [new Map<string, number>(), new Map<string, number>()];
  for (const line of readFileSync(path, "utf8").trimEnd().split("\n")) {
    const [key = "", kind] = line.split(" ");
    const counts = kind === "begin" ? begun : kind === "write" ? written : undefined;
    counts?.set(key, (counts.get(key) ?? 0) + 1);
  }
  return { begun, written };
}

/** One result for each call, and no run of a write that the journal does not allow, after the first one by a decision. */
function judgeCalls(execution: string, records: readonly JournalRecord[], begun: ReadonlyMap<string, number>): void {
  const answered = pastTurns(records).flatMap(({ event }) => (event.kind === "answer" ? [event.id] : []));
  expect(new Set(answered).size, execution).toBe(answered.length);
  const results = ofType(records, "result").map(({ call }) => call);
  expect(new Set(results).size, execution).toBe(results.length);
  for (const call of new Set(ofType(records, "call").map((record) => record.call))) {
    const own = ofType(records, "call").filter((record) => record.call === call);
    const decisions = ofType(records, "decision").filter((record) => record.call === call);
    const held = own.filter(({ decision }) => decision === "held");
    expect(decisions.length, `${execution}, call ${call}`).toBeLessThanOrEqual(held.length);
    const [first] = own;
    if (first?.tool !== "pay" && first?.tool !== "refund") continue;
    const allowed = own.filter(({ decision }) => decision === "allowed");
    const again = decisions.filter(({ allow, done }) => allow && done === undefined).length;
    const approved = first.tool === "refund" ? 1 : 0;
    expect(allowed.length, `${execution}, call ${call}`).toBeLessThanOrEqual(1 + again - approved);
    const runs = begun.get(`${execution}:${call}:${allowed[0]?.inputDigest ?? ""}`) ?? 0;
    expect(runs, `${execution}, call ${call}`).toBeLessThanOrEqual(allowed.length);
  }
}

/** Whether three drivers in a row died while the program had the turn: then an execution is given up, as one that kills its hosts. */
function isGivenUp(records: readonly JournalRecord[]): boolean {
  const lastTurn = records.findLastIndex(({ type }) => type === "turn");
  const outcome = ofType(records, "outcome")[0]?.outcome ?? "";
  return ofType(records.slice(lastTurn + 1), "hand").length >= 3 && outcome.includes("hosts died in a row");
}

function ofType<Type extends JournalRecord["type"]>(records: readonly JournalRecord[], type: Type) {
  return records.filter((record): record is Extract<JournalRecord, { type: Type }> => record.type === type);
}

if (!ALL_TESTS) process.stdout.write("Drivers are killed by make test-all only.\n");

describe.skipIf(!ALL_TESTS)("nothing is lost and nothing doubled", () => {
  test(
    `where two drivers race, and are killed ${KILLS} times, at any moment and at every named point`,
    { timeout: 3_600_000 },
    async () => {
      const reached = new Map<string, number>();
      let [kills, executions, givenUp, started] = [0, 0, 0, 0];
      // Each other worker dies at a named point, first at those that were reached least often.
      const nextPoint = () => {
        const name = POINTS.toSorted((one, other) => (reached.get(one) ?? 0) - (reached.get(other) ?? 0))[0] ?? "";
        reached.set(name, (reached.get(name) ?? 0) + 1);
        return name;
      };
      const isDone = () => kills >= KILLS && POINTS.every((name) => (reached.get(name) ?? 0) > 0);
      const drive = async (files: Files) => {
        for (;;) {
          const isLast = isDone();
          const name = !isLast && (started += 1) % 2 === 0 ? nextPoint() : "";
          const worker = startWorker(files, name && `${name} ${1 + Math.floor(Math.random() * 10)}`);
          if (!isLast && name === "") {
            await Promise.race([once(worker, "message"), exitOf(worker)]);
            await Promise.race([delay(Math.random() * 150), exitOf(worker)]);
            worker.kill("SIGKILL");
          }
          const code = await exitOf(worker);
          if (code === null) kills += 1;
          // It ended before it came to its point.
          else if (name !== "") reached.set(name, (reached.get(name) ?? 1) - 1);
          // All have ended. The rest of the kills has another set of executions.
          if (code === 0) return;
          if (code !== null) throw new Error(`A worker failed with exit code ${code}:\n${printed.get(worker) ?? ""}`);
        }
      };
      while (!isDone()) {
        const files = newFiles();
        await Promise.all([drive(files), drive(files)]);
        executions += EXECUTIONS;
        givenUp += await judge(files);
      }
      const points = POINTS.map((name) => `${name} ${reached.get(name) ?? 0}`).join(", ");
      process.stdout.write(
        `${executions} executions of ${SHAPES.length} shapes, ${kills} kills, ${givenUp} given up after three in a row. At points: ${points}. The others at random.\n`,
      );
    },
  );

  test(`where two drivers race, and are stopped past their leases and continued, ${STOPS} times`, TIME, async () => {
    const files = newFiles();
    const workers = [startWorker(files), startWorker(files)];
    await Promise.all(workers.map((worker) => once(worker, "message")));
    let stops = 0;
    for (const worker of [...workers, ...workers].slice(0, STOPS)) {
      await Promise.race([delay(Math.random() * 60), exitOf(worker)]);
      if (!worker.kill("SIGSTOP")) continue;
      stops += 1;
      // The other driver has to wait for its leases, and for the file's lock if it holds that.
      await delay(STOPPED_MS);
      worker.kill("SIGCONT");
    }
    expect(await Promise.all(workers.map(exitOf))).toEqual([0, 0]);
    process.stdout.write(`${EXECUTIONS} executions, ${stops} stops\n`);
    expect(stops).toBeGreaterThan(0);
    await judge(files);
  });

  test("where two drivers race, and another process locks the journal for longer than they wait", TIME, async () => {
    const files = newFiles();
    createSqliteJournal({ path: files.journal })[Symbol.dispose]();
    const locker = start("locker.ts", [files.journal, `${LOCK_MS}`]);
    let locks = 0;
    locker.on("message", () => {
      locks += 1;
      if (locks === LOCKS) locker.kill("SIGKILL");
    });
    await once(locker, "message");
    const workers = [1, 2].map(() => startWorker(files, "", LOCK_TIMEOUT_MS));
    let locked = 0;
    for (const worker of workers) worker.on("message", (told) => (locked += typeof told === "number" ? told : 0));
    expect(await Promise.all(workers.map(exitOf))).toEqual([0, 0]);
    locker.kill("SIGKILL");
    process.stdout.write(`${EXECUTIONS} executions, ${locks} locks, ${locked} attempts that ended as journal_locked\n`);
    expect(await judge(files)).toBe(0);
  });
});
