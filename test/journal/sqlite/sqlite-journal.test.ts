import { fork } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { zstdCompressSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { createSqliteJournal, type SqliteJournal } from "../../../src/index.ts";
import { listExecutions } from "../../../src/runtime/executions/list-executions.ts";
import { ALL_TESTS, failing, someOf, testOfAll } from "../../support/index.ts";
import { durableJournalSuite } from "../durable-journal-suite.ts";
import { journalSuite, listed } from "../journal-suite.ts";
import { header, outcome, turn } from "../records.ts";

const folders: string[] = [];
const open: Disposable[] = [];

afterEach(() => {
  for (const journal of open.splice(0)) journal[Symbol.dispose]();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-journal-"));
  folders.push(folder);
  return join(folder, "journal.db");
}

function openJournal(path = newPath(), durability: "full" | "relaxed" = "full", lockTimeoutMs = 10_000): SqliteJournal {
  const journal = createSqliteJournal({ path, durability, lockTimeoutMs });
  open.push(journal);
  return journal;
}

/** Another connection, which can do to the file what a test needs. */
function raw(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  open.push({ [Symbol.dispose]: () => database.isOpen && database.close() });
  return database;
}

/** Changes a file by a statement of another connection. */
function change(path: string, sql: string): void {
  const database = raw(path);
  database.exec(sql);
  database.close();
}

/** A file cannot be opened, and the error has this code and these words. */
const expectRefused = (path: string, code: string, words = "") =>
  expect(() => openJournal(path)).toThrow(expect.objectContaining(failing(code, words)));

describe("durable to the last append", () => journalSuite(() => openJournal()));
describe("relaxed", () => journalSuite(() => openJournal(newPath(), "relaxed")));

describe("a journal in a file", () => {
  durableJournalSuite(
    () => {
      const path = newPath();
      return {
        open: () => openJournal(path),
        close: (journal) => (journal as SqliteJournal)[Symbol.dispose](),
        sql: (text) => raw(path).prepare(text).all(),
        address: [path],
      };
    },
    ALL_TESTS ? 3 : 2,
  );

  test("is for its owner alone, with the files that SQLite keeps beside it", async () => {
    const path = newPath();
    await openJournal(path).create(header("one"));
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777, file).toBe(0o600);
  });

  testOfAll("is opened by every process of those that create the same file at once", async () => {
    const path = newPath();
    const script = fileURLToPath(new URL("open-process.ts", import.meta.url));
    const children = someOf([1, 2, 3, 4, 5], 2).map(() =>
      fork(script, [path, "150"], { execArgv: ["--conditions=portcullis-source"] }),
    );
    const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0] as number));
    expect(codes).toEqual(children.map(() => 0));
  });
});

describe("a lock that another process keeps", () => {
  test("is waited for, and the append follows when it is given back", async () => {
    const path = newPath();
    const journal = openJournal(path);
    await journal.create(header("one"));
    const other = raw(path);
    other.exec("BEGIN IMMEDIATE");
    const appended = journal.append("one", 1, [outcome]);
    // Other work of this process goes on meanwhile.
    expect(await listed(journal)).toHaveLength(1);
    other.exec("ROLLBACK");
    expect(await appended).toBe(2);
  });

  test("ends as journal_locked after the time-out, with nothing written", async () => {
    const path = newPath();
    const journal = openJournal(path, "full", 20);
    await journal.create(header("one"));
    const other = raw(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(journal.append("one", 1, [outcome])).rejects.toMatchObject({ code: "journal_locked" });
    other.exec("ROLLBACK");
    expect(await journal.append("one", 1, [outcome])).toBe(2);
  });
});

test("a record whose texts would fill the memory when they are decompressed is damaged, and takes no room", async () => {
  const path = newPath();
  const writer = openJournal(path);
  await writer.create(header("one"));
  await writer.append("one", 1, [turn("event")]);
  writer[Symbol.dispose]();
  const body = Buffer.alloc(1024 * 1024, "a");
  const sha256 = createHash("sha256").update(body).digest();
  const reference = { head: "", sha256: sha256.toString("hex") };
  const record = JSON.stringify({ type: "turn", event: "", commands: Array.from({ length: 50 }, () => reference) });
  const database = raw(path);
  // A fifth of what a record may hold. The file itself says how long a text is.
  database.prepare("INSERT INTO texts VALUES (?, ?, ?)").run(sha256, 100 * 1024 * 1024, zstdCompressSync(body));
  database.prepare("UPDATE records SET record = ? WHERE position = 1").run(record);
  database.close();
  expect(statSync(path).size).toBeLessThan(1024 * 1024);
  await expect(Array.fromAsync(openJournal(path).read("one"))).rejects.toMatchObject(
    failing("journal_corrupt", "larger than one of a journal can be"),
  );
});

describe("a file that cannot be used is refused with what to do, and left as it is", () => {
  test.each<[string, (path: string) => string, string, string?]>([
    ["a folder", dirname, "option_invalid", "is a folder"],
    ["a folder that does not exist", (path) => join(path, "no", "journal.db"), "journal_read_only"],
    [
      "another program's database",
      (path) => (change(path, "CREATE TABLE mine (a)"), path),
      "journal_corrupt",
      "not a journal of portcullis",
    ],
    [
      "a file that is no database",
      (path) => (writeFileSync(path, "no database ".repeat(300)), path),
      "journal_corrupt",
    ],
  ])("%s", (_, make, code, words) => {
    const path = make(newPath());
    const contents = () => (statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, "latin1") : "");
    const before = contents();
    expectRefused(path, code, words);
    expect(contents() === before).toBe(true);
  });

  test.each(["", " ", "\t\n"])("a name that is blank: %j", (path) => {
    expectRefused(path, "option_invalid");
    expect(existsSync(path)).toBe(false);
  });

  test.each([
    [
      "a view in place of a table, which would run when it is read",
      "ALTER TABLE executions RENAME TO other; CREATE VIEW executions AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS number, x AS id FROM n WHERE x < 0",
    ],
    [
      "a trigger, which would run when it is written",
      "CREATE TRIGGER spy AFTER INSERT ON records BEGIN DELETE FROM records; END",
    ],
    ["a further table", "CREATE TABLE more (a)"],
    ["a further index", "CREATE INDEX more ON records (record)"],
  ])("a journal with %s", (_name, sql) => {
    const path = newPath();
    openJournal(path)[Symbol.dispose]();
    change(path, sql);
    expectRefused(path, "journal_corrupt", "that are no part of a journal");
  });

  test("a link that leads nowhere, and no file is created where it points", () => {
    const path = newPath();
    symlinkSync(`${path}-elsewhere`, path);
    expectRefused(path, "journal_read_only", "is a link");
    expect(existsSync(`${path}-elsewhere`)).toBe(false);
  });

  test.each(["", "-wal", "-shm"])(
    "where all users may create files, one of another kind or owner: journal.db%s",
    (end) => {
      const path = newPath();
      chmodSync(dirname(path), 0o1777);
      if (end === "") openJournal(`${path}-ours`)[Symbol.dispose]();
      else writeFileSync(`${path}-theirs`, "");
      // A link stands for a file of another user, which only root can make.
      symlinkSync(`${path}-${end === "" ? "ours" : "theirs"}`, `${path}${end}`);
      // A link to a file of this user's own is the user's.
      if (end === "") openJournal(path);
      else expectRefused(path, "journal_read_only", `${path}${end} does not belong to this user`);
    },
  );

  test("a journal that was analysed is whole", () => {
    const path = newPath();
    openJournal(path)[Symbol.dispose]();
    change(path, "ANALYZE");
    expect(() => openJournal(path)).not.toThrow();
  });

  test.skipIf(process.getuid?.() === 0)(
    "a file that may not be written (skipped for root, who may write every file)",
    async () => {
      const path = newPath();
      openJournal(path)[Symbol.dispose]();
      chmodSync(path, 0o400);
      expectRefused(path, "journal_read_only");
    },
  );
});

// SQLite reports a file that has reached its maximum number of pages and a full disk by the same code.
test("without space an append rejects with journal_full and writes nothing, and a smaller one succeeds", async () => {
  const journal = createSqliteJournal({ path: newPath(), maxBytes: 1024 * 1024 });
  open.push(journal);
  await journal.create(header("one"));
  // Text without repetition, so that its compressed form needs new pages.
  const large = Array.from({ length: 40 }, () => randomBytes(32 * 1024).toString("hex"));
  await expect(journal.append("one", 1, [turn("first"), ...large.map((text) => turn(text))])).rejects.toMatchObject({
    code: "journal_full",
  });
  expect(await Array.fromAsync(journal.read("one"))).toEqual([header("one")]);
  expect(await journal.append("one", 1, [turn("first")])).toBe(2);
});

describe("check", () => {
  const problems = async (path: string) => Array.fromAsync(openJournal(path).check());

  async function written(): Promise<string> {
    const path = newPath();
    const journal = openJournal(path);
    const large = JSON.stringify(Array.from({ length: 30_000 }, (_, n) => n));
    await journal.create(header("one"));
    await journal.append("one", 1, [turn("a"), turn(`{"kind":"answer"}\n${large}`), outcome]);
    await journal.create(header("two"));
    journal[Symbol.dispose]();
    return path;
  }

  test.each([
    ["a head below 1", "head = -5"],
    ["a head of no record", "head = 0"],
    ["a head that JavaScript cannot hold", "head = 9223372036854775807"],
    ["a head far beyond its records", "head = 9007199254740991"],
    ["a start that JavaScript cannot hold", "started_at = -9223372036854775808"],
    ["a start before 1970", "started_at = -1"],
    ["an end that is neither", "ended = 7"],
    ["another kind", "kind = 'x'"],
    ["a lease that JavaScript cannot hold", "leased_until = 9223372036854775807"],
    ["a tenant of 20 MB", "tenant = printf('%.*c', 20000000, 'x')"],
    ["a driver of 20 MB", "driver = printf('%.*c', 20000000, 'x')"],
  ])(
    "says that a file is damaged whose list has %s, and no other method fails in another way",
    async (_, assignment) => {
      const path = await written();
      change(path, `UPDATE executions SET ${assignment} WHERE id = 'one'`);
      const journal = openJournal(path);
      const methods: (() => Promise<unknown>)[] = [
        () => Array.fromAsync(journal.read("one")),
        () => journal.find("one"),
        () => journal.append("one", 4, [outcome]),
        () => Array.fromAsync(journal.list()),
        () => Array.fromAsync(listExecutions(journal)),
      ];
      const errors = (await Promise.allSettled(methods.map((method) => method()))).flatMap((settled) =>
        settled.status === "rejected" ? [(settled.reason as { readonly code?: unknown }).code] : [],
      );
      expect(errors.length).toBeGreaterThan(0);
      for (const code of errors) expect(["journal_corrupt", "head_moved"]).toContain(code);
      const found = await Array.fromAsync(journal.check());
      expect(found).toContainEqual(expect.objectContaining({ problem: expect.stringMatching(/damaged|missing/) }));
    },
  );

  test("lists the others behind a page of entries whose starts JavaScript cannot hold", async () => {
    const path = newPath();
    const journal = openJournal(path);
    for (let n = 0; n < 300; n += 1) await journal.create(header(`e${n}`));
    change(path, "UPDATE executions SET started_at = 9223372036854775000 + number % 3 WHERE number <= 290");
    const ids = (await listed(openJournal(path))).map(({ execution }) => execution);
    expect(ids).toEqual(Array.from({ length: 10 }, (_, n) => `e${299 - n}`));
  });

  test("finds a file that was cut off", async () => {
    const path = await written();
    const copy = `${path}.copy`;
    copyFileSync(path, copy);
    truncateSync(copy, Math.floor(statSync(copy).size / 2));
    await expect(async () => {
      const found = await problems(copy);
      if (found.length > 0) throw new Error(found[0]?.problem);
    }).rejects.toThrow();
  });
});

describe("prune", () => {
  const ids = async (journal: SqliteJournal) => (await listed(journal)).map(({ execution }) => execution).toReversed();
  const large = JSON.stringify(Array.from({ length: 30_000 }, (_, n) => n));

  test("deletes old executions that have ended, and texts that no other execution has", async () => {
    const path = newPath();
    const journal = openJournal(path);
    for (const [execution, startedAt] of [
      ["old", 1],
      ["open", 1],
      ["new", 9],
    ] as const) {
      await journal.create(header(execution, { startedAt }));
      await journal.append(execution, 1, [turn(execution === "new" ? `${large} ` : large)]);
      if (execution !== "open") await journal.append(execution, 2, [outcome]);
    }
    expect(await journal.prune({ before: 9 })).toBe(1);
    expect(await ids(journal)).toEqual(["open", "new"]);
    expect(raw(path).prepare("SELECT count(*) AS count FROM texts").get()).toEqual({ count: 2 });
    expect(await Array.fromAsync(journal.check())).toEqual([]);
    expect(await journal.prune({ before: 9, open: true })).toBe(1);
    expect(await ids(journal)).toEqual(["new"]);
    expect(raw(path).prepare("SELECT count(*) AS count FROM texts").get()).toEqual({ count: 1 });
  });
});

describe("items of streams", () => {
  const head = (count: number) => `{"kind":"items","now":5,"id":1,"count":${count},"bytes":200000}\n`;
  const items = (letter: string) => JSON.stringify([letter.repeat(200_000)]);
  const events = (records: readonly { readonly event?: string }[]) => records.map(({ event }) => event);

  async function written() {
    const path = newPath();
    const journal = createSqliteJournal({ path });
    open.push(journal);
    await journal.create(header("one"));
    const answer = `{"kind":"answer","now":6,"id":1,"ok":true}\n${items("d")}`;
    const batches = ["a", "b", "c"].map((letter, index) => turn(head(index) + items(letter)));
    await journal.append("one", 1, [...batches, turn(`${head(9)}[1]`), turn(answer)]);
    return {
      path,
      journal,
      whole: [head(0) + items("a"), head(1) + items("b"), head(2) + items("c"), `${head(9)}[1]`, answer],
    };
  }
  const turnsOf = async (journal: SqliteJournal, itemBytes?: number) => {
    const read = journal.read("one", { from: 1, ...(itemBytes === undefined ? {} : { itemBytes }) });
    return events((await Array.fromAsync(read)) as { readonly event?: string }[]);
  };

  test("are read up to as many bytes as are wanted, and the frames of later batches tell their number", async () => {
    const { journal, whole } = await written();
    expect(await turnsOf(journal)).toEqual(whole);
    expect(await turnsOf(journal, 0)).toEqual([`${head(0)}[]`, `${head(1)}[]`, `${head(2)}[]`, ...whole.slice(3)]);
    expect(await turnsOf(journal, 1)).toEqual([whole[0], `${head(1)}[]`, `${head(2)}[]`, ...whole.slice(3)]);
    expect(await turnsOf(journal, 200_005)).toEqual([whole[0], whole[1], `${head(2)}[]`, ...whole.slice(3)]);
  });

  test("that are not wanted are not looked for, and a check of the journal looks for all", async () => {
    const { path, journal, whole } = await written();
    const other = new DatabaseSync(path);
    const gone = createHash("sha256").update(items("b")).digest();
    other.prepare("DELETE FROM texts WHERE sha256 = ?").run(gone);
    other.close();
    expect(await turnsOf(journal, 1)).toEqual([whole[0], `${head(1)}[]`, `${head(2)}[]`, ...whole.slice(3)]);
    await expect(turnsOf(journal)).rejects.toMatchObject({ code: "journal_corrupt" });
    expect(await Array.fromAsync(journal.check())).toMatchObject([{ execution: "one" }]);
  });
});
