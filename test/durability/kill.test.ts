import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { createSqliteJournal } from "../../src/index.ts";
import type { JournalRecord } from "../../src/journal/index.ts";
import { pastTurns } from "../../src/programs/history.ts";
import { readPast } from "../../src/programs/past-execution.ts";
import { ALL_TESTS } from "../support/all-tests.ts";
import { SHAPES } from "./shapes.ts";

const KILLS = Number(process.env.KILLS ?? 100);
const EXECUTIONS = 200;
/** Of the workers' kills, so many happen at a named append; the others at any moment. */
const POINTS = ["turn", "call", "decision", "result", "answered", "claim", "outcome"].flatMap((type) => [
  `before ${type}`,
  `after ${type}`,
]);
/** Several leases. */
const STOPPED_MS = 3000;
const script = fileURLToPath(new URL("worker.ts", import.meta.url));

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFiles() {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-kill-"));
  folders.push(folder);
  const effects = join(folder, "effects");
  writeFileSync(effects, "");
  return { journal: join(folder, "journal.db"), effects };
}

type Files = ReturnType<typeof newFiles>;

function startWorker({ journal, effects }: Files, point = ""): ChildProcess {
  return fork(script, [journal, effects, `${EXECUTIONS}`, point], {
    execArgv: ["--conditions=portcullis-source", "--no-warnings"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}

/** Resolves with the exit code; null if it was killed. */
async function exitOf(worker: ChildProcess): Promise<number | null> {
  if (worker.exitCode !== null || worker.signalCode !== null) return worker.exitCode;
  const [code] = (await once(worker, "exit")) as [number | null];
  return code;
}

/** Holds every execution of a journal to the promise. Returns how many were given up after three deaths in a row. */
async function judge({ journal: path, effects }: Files): Promise<number> {
  let givenUp = 0;
  using journal = createSqliteJournal({ path });
  expect(await Array.fromAsync(journal.check())).toEqual([]);
  const listed = await Array.fromAsync(journal.list());
  expect(listed).toHaveLength(EXECUTIONS);
  for (const { execution } of listed) {
    const records = await Array.fromAsync(journal.read(execution));
    const outcomes = ofType(records, "outcome").map(({ outcome }) => outcome);
    expect(outcomes, execution).toHaveLength(1);
    if (endsInARow(records)) {
      givenUp += 1;
      continue;
    }
    expect(outcomes, execution).toEqual(['{"type":"completed"}']);
    const { state } = await readPast(records);
    const source = state.header?.kind === "program" ? state.header.source : "";
    const shape = SHAPES.find(({ program }) => program === source);
    expect(JSON.parse(state.settled?.body ?? "null"), `${execution}: ${source}`).toEqual(shape?.value(execution));
    const answered = pastTurns(records).flatMap(({ event }) => (event.kind === "answer" ? [event.id] : []));
    expect(new Set(answered).size, execution).toBe(answered.length);
    const decided = ofType(records, "decision").map(({ call }) => call);
    const held = records.filter((record) => record.type === "call" && record.decision === "held").length;
    expect(decided.length, execution).toBeLessThanOrEqual(held);
  }
  const lines = readFileSync(effects, "utf8").trimEnd().split("\n");
  const writes = lines.filter((line) => line.endsWith(" write"));
  expect(new Set(writes).size, "a write was repeated although it stood in the effects").toBe(writes.length);
  return givenUp;
}

/** Whether three drivers in a row died before the next turn: then an execution is given up, as one that kills its hosts. */
function endsInARow(records: readonly JournalRecord[]): boolean {
  const lastTurn = records.findLastIndex(({ type }) => type === "turn");
  const outcome = ofType(records, "outcome")[0]?.outcome ?? "";
  return ofType(records.slice(lastTurn + 1), "claim").length >= 3 && outcome.includes("hosts died in a row");
}

function ofType<Type extends JournalRecord["type"]>(records: readonly JournalRecord[], type: Type) {
  return records.filter((record): record is Extract<JournalRecord, { type: Type }> => record.type === type);
}

if (!ALL_TESTS) process.stdout.write("Drivers are killed by make test-all only.\n");

describe.skipIf(!ALL_TESTS)("nothing is lost and nothing doubled", () => {
  test(
    `where two drivers race, and are killed ${KILLS} times at any moment and at named appends`,
    { timeout: 3_600_000 },
    async () => {
      const files = newFiles();
      let kills = 0;
      let givenUp = 0;
      const reached = new Map<string, number>();
      const drive = async (number: number) => {
        for (let round = number; ; round += 2) {
          const isLast = kills >= KILLS;
          const name = POINTS[Math.floor(Math.random() * POINTS.length)] ?? "";
          const point = isLast || round % 4 < 2 ? "" : `${name} ${1 + Math.floor(Math.random() * 20)}`;
          const worker = startWorker(files, point);
          if (!isLast && point === "") {
            await Promise.race([once(worker, "message"), exitOf(worker)]);
            await Promise.race([delay(Math.random() * 150), exitOf(worker)]);
            worker.kill("SIGKILL");
          }
          const code = await exitOf(worker);
          if (code === 0) {
            // All have ended. The rest of the kills has another set of executions.
            return;
          }
          if (code !== null) throw new Error(`A worker failed with exit code ${code}.`);
          kills += 1;
          if (point !== "") reached.set(name, (reached.get(name) ?? 0) + 1);
        }
      };
      const isDone = () => kills >= KILLS;
      while (!isDone()) {
        Object.assign(files, newFiles());
        await Promise.all([drive(0), drive(1)]);
        givenUp += await judge(files);
      }
      const points = [...reached]
        .toSorted(([one], [other]) => one.localeCompare(other))
        .map(([name, count]) => `${name}: ${count}`);
      process.stdout.write(
        `${EXECUTIONS} executions at a time, ${kills} kills, ${givenUp} given up after three in a row; at appends: ${points.join(", ")}\n`,
      );
    },
  );

  test("where a driver is stopped past its lease and continued", { timeout: 120_000 }, async () => {
    const files = newFiles();
    const first = startWorker(files);
    await once(first, "message");
    await delay(30);
    first.kill("SIGSTOP");
    const second = startWorker(files);
    // The second driver has to wait for the leases of the first, and for the file's lock if the first one holds that.
    await Promise.race([exitOf(second), delay(STOPPED_MS)]);
    first.kill("SIGCONT");
    expect(await exitOf(second)).toBe(0);
    await exitOf(first);
    await judge(files);
  });
});
