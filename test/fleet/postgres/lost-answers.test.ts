import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { createPostgresJournal, type PostgresJournal } from "../../../src/fleet/index.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { usePostgres } from "../../postgres-support/use-postgres.ts";
import { failing } from "../../support/failing.ts";
import { header, outcome, turn } from "../../journal/records.ts";

/** Passes bytes on to a server, and on demand cuts a connection when the server answers: what was asked is done then. */
class Proxy implements Disposable {
  readonly #server = createServer((client) => this.#accept(client));
  readonly #port: number;
  /** Whether the answers to what is sent from now on are lost, with their connection. */
  #losesAnswer = false;
  #text = "";
  lost = 0;

  constructor(port: number) {
    this.#port = port;
  }

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Loses the answer to what has this text. */
  loseNext(text: string): void {
    this.#losesAnswer = true;
    this.#text = text;
  }

  #accept(client: Socket): void {
    const server = connect(this.#port, "127.0.0.1");
    let hasAsked = false;
    for (const socket of [client, server]) socket.on("error", () => {});
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
    client.on("data", (bytes) => {
      hasAsked ||= this.#losesAnswer && bytes.includes(this.#text);
      server.write(bytes);
    });
    server.on("data", (bytes) => {
      if (!hasAsked) return void client.write(bytes);
      this.#losesAnswer = false;
      this.lost += 1;
      client.destroy();
    });
  }

  [Symbol.dispose](): void {
    this.#server.close();
  }
}

describe.skipIf(noPostgres)("an append whose answer is lost with its connection", () => {
  let proxy: Proxy;
  let journal: PostgresJournal;
  usePostgres(async (server) => {
    proxy = new Proxy(server.port);
    const url = server.url().replace(String(server.port), String(await proxy.listen()));
    journal = createPostgresJournal({ url, unavailableMs: 30_000 });
  });
  afterAll(async () => {
    await journal[Symbol.asyncDispose]();
    proxy[Symbol.dispose]();
  });

  test("and was done is found to be done, and resolves: a creation, a turn, a large one", async () => {
    proxy.loseNext("lost-create");
    expect(await journal.create(header("lost-create"))).toBe(1);
    proxy.loseNext("event lost");
    expect(await journal.append("lost-create", 1, [turn("event lost"), turn("second")])).toBe(3);
    proxy.loseNext("COMMIT");
    expect(await journal.append("lost-create", 3, [turn("x".repeat(100_000))])).toBe(4);
    expect(proxy.lost).toBe(3);
    expect(await Array.fromAsync(journal.read("lost-create"))).toEqual([
      header("lost-create"),
      turn("event lost"),
      turn("second"),
      turn("x".repeat(100_000)),
    ]);
  });

  test("with statements of others has them once", async () => {
    await journal.query("CREATE TABLE IF NOT EXISTS portcullis.jobs (id text)");
    await journal.create(header("within"));
    const before = proxy.lost;
    proxy.loseNext("COMMIT");
    const within = async (sql: (text: string) => Promise<unknown>) => {
      await sql("INSERT INTO portcullis.jobs VALUES ('one')");
    };
    expect(await journal.append("within", 1, [outcome], { within })).toBe(2);
    expect(proxy.lost).toBe(before + 1);
    expect((await journal.query("SELECT id FROM portcullis.jobs")).rows).toEqual([{ id: "one" }]);
  });

  test("and lost the race to another append is refused", async () => {
    await journal.create(header("raced"));
    await journal.append("raced", 1, [turn("of another")]);
    proxy.loseNext("mine");
    await expect(journal.append("raced", 1, [turn("mine")])).rejects.toMatchObject({ code: "head_moved" });
    await journal.create(header("taken"));
    proxy.loseNext("taken");
    await expect(journal.create(header("taken", { source: "other" }))).rejects.toMatchObject({
      code: "execution_exists",
    });
  });

  test("a statement of others whose answer is lost is not run again, unless it is said to be idempotent", async () => {
    await journal.query("CREATE TABLE portcullis.counted (n int); INSERT INTO portcullis.counted VALUES (0)");
    const statement = "UPDATE portcullis.counted SET n = n + 1";
    proxy.loseNext(statement);
    await expect(journal.query(statement)).rejects.toMatchObject(
      failing("journal_unavailable", "not known whether it took effect"),
    );
    expect((await journal.query("SELECT n FROM portcullis.counted")).rows).toEqual([{ n: 1 }]);
    proxy.loseNext("SELECT n ");
    expect((await journal.query("SELECT n FROM portcullis.counted", [], { idempotent: true })).rows).toEqual([
      { n: 1 },
    ]);
  });
});
