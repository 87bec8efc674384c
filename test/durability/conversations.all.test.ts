import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createSqliteJournal } from "../../src/index.ts";
import { ALL_TESTS } from "../support/all-tests.ts";
import { memoryFolder } from "../support/memory-folder.ts";
import { ANSWER } from "./drivers.ts";

const CONVERSATIONS = 20;
const KILLS = Math.ceil(Number(process.env.KILLS ?? 100) / 5);
const SCRIPT = fileURLToPath(new URL("conversation-worker.ts", import.meta.url));

if (!ALL_TESTS) process.stdout.write("Hosts of conversations are killed by make test-all only.\n");

test.skipIf(!ALL_TESTS)(
  `conversations whose hosts are killed ${KILLS} times end as if they had not been: each turn once, each payment once`,
  { timeout: 900_000 },
  async () => {
    let [kills, rounds] = [0, 0];
    while (kills < KILLS) {
      const folder = memoryFolder("portcullis-conversations-");
      const [path, effects] = [join(folder, "journal.db"), join(folder, "effects")];
      writeFileSync(effects, "");
      for (;;) {
        const worker = fork(SCRIPT, [path, effects, `${CONVERSATIONS}`], {
          execArgv: ["--conditions=portcullis-source", "--no-warnings"],
          stdio: ["ignore", "ignore", "inherit", "ipc"],
        });
        const exited = exitOf(worker);
        if (kills < KILLS) {
          await Promise.race([once(worker, "message"), exited]);
          await Promise.race([delay(Math.random() * 300), exited]);
          worker.kill("SIGKILL");
        }
        const code = await exited;
        if (code === 0) break;
        expect(code, "a worker failed").toBe(null);
        kills += 1;
      }
      rounds += 1;
      await judge(path, effects);
      rmSync(folder, { recursive: true });
    }
    process.stdout.write(`${rounds * CONVERSATIONS} conversations, ${kills} kills\n`);
  },
);

async function exitOf(worker: ChildProcess): Promise<number | null> {
  const [code] = (await once(worker, "exit")) as [number | null];
  return code;
}

/** Every conversation and program has one outcome; each turn is recorded once, and each payment was made once. */
async function judge(path: string, effects: string): Promise<void> {
  using journal = createSqliteJournal({ path });
  expect(await Array.fromAsync(journal.check())).toEqual([]);
  const listed = await Array.fromAsync(journal.list());
  expect(listed.filter(({ kind }) => kind === "conversation")).toHaveLength(CONVERSATIONS);
  expect(listed.filter(({ kind }) => kind === "program")).toHaveLength(CONVERSATIONS);
  for (const { execution, kind } of listed) {
    const records = await Array.fromAsync(journal.read(execution));
    const outcomes = records.flatMap((record) => (record.type === "outcome" ? [record.outcome] : []));
    expect(outcomes, execution).toHaveLength(1);
    expect(records.at(-1)?.type, execution).toBe("outcome");
    if (kind !== "conversation") continue;
    expect(outcomes[0], execution).toContain(JSON.stringify(ANSWER).slice(1, -1));
    const messages = records.flatMap((record) => (record.type === "message" ? [record] : []));
    expect(
      messages.filter(({ from }) => from === "model"),
      execution,
    ).toHaveLength(3);
    const answered = messages
      .filter(({ from }) => from === "host")
      .flatMap(({ message }) => (JSON.parse(message) as { readonly callId: string }[]).map(({ callId }) => callId));
    expect(answered.toSorted(), execution).toEqual([...new Set(answered)].toSorted());
    expect(answered, execution).toHaveLength(5);
  }
  const written = readFileSync(effects, "utf8")
    .split("\n")
    .filter((line) => line.endsWith(" write"));
  expect(written.toSorted()).toEqual([...new Set(written)].toSorted());
  expect(written).toHaveLength(CONVERSATIONS * 3);
}
