import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { freePort } from "../support/free-port.ts";
import { findPostgres, type PostgresBinaries } from "./find-postgres.ts";

const STARTING_MS = 60_000;
const PASSWORD = "correct-horse-7";

/** The server of this machine, or why there is none: `describe.skipIf(noPostgres)`. The reason is printed. */
const found = findPostgres();
export const noPostgres = "reason" in found;
if ("reason" in found) process.stderr.write(`Tests with PostgreSQL are skipped: ${found.reason}.\n`);

export interface UrlParts {
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  readonly query?: string;
}

/**
 * A real server with a folder of its own, on the loopback and a Unix socket, with its data forced to the disk. It ends with
 * the process that has started it, whatever ends that.
 */
export class PostgresServer implements AsyncDisposable {
  readonly folder: string;
  readonly port: number;
  readonly #binaries: PostgresBinaries;
  #process: ChildProcess | undefined;

  private constructor(binaries: PostgresBinaries, folder: string, port: number) {
    this.#binaries = binaries;
    this.folder = folder;
    this.port = port;
  }

  static async start(): Promise<PostgresServer> {
    if ("reason" in found) throw new Error(found.reason);
    const folder = mkdtempSync(join(tmpdir(), "portcullis-postgres-"));
    if (found.user) chownSync(folder, found.user.uid, found.user.gid);
    const server = new PostgresServer(found, folder, await freePort());
    server.#initialise();
    await server.start();
    return server;
  }

  get socket(): string {
    return this.folder;
  }

  /** A URL over the loopback, where the password is asked for. */
  url({ user = "postgres", password = PASSWORD, database = "postgres", query = "" }: UrlParts = {}): string {
    const secret = password === "" ? "" : `:${password}`;
    return `postgres://${user}${secret}@127.0.0.1:${this.port}/${database}${query === "" ? "" : `?${query}`}`;
  }

  /** Runs statements as the superuser. */
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
    return this.sqlIn("postgres", text, values);
  }

  /** The same in another database. */
  async sqlIn(database: string, text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.url({ database }) });
    client.on("error", () => {});
    await client.connect();
    try {
      const { rows } = (await client.query(text, values)) as { rows: Record<string, unknown>[] };
      return rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  async start(): Promise<void> {
    const settings = {
      listen_addresses: "127.0.0.1",
      port: String(this.port),
      unix_socket_directories: this.folder,
      max_connections: "200",
      fsync: "on",
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const deadline = Date.now() + STARTING_MS;
    for (;;) {
      // It ends when its standard input does, with this process: at once, as the checkpoint of a slower end may take a minute.
      const script = `"$@" >>"${this.folder}/log" 2>&1 & pid=$!; { read _; kill -QUIT $pid 2>/dev/null; } <&3 & wait $pid`;
      const command = [join(this.#binaries.folder, "postgres"), "-D", join(this.folder, "data"), ...options];
      this.#process = spawn("bash", ["-c", `exec 3<&0; ${script}`, "bash", ...command], {
        stdio: ["pipe", "ignore", "ignore"],
        ...this.#binaries.user,
      });
      const ended = once(this.#process, "exit");
      while (this.#process.exitCode === null && Date.now() < deadline) {
        if (await this.#answers()) return;
        await Promise.race([delay(50), ended]);
      }
      // What is left of a server that was killed may hold its memory for a moment.
      if (Date.now() > deadline)
        throw new Error(`PostgreSQL does not start: ${readFileSync(`${this.folder}/log`, "utf8").slice(-500)}`);
      await delay(100);
    }
  }

  /** Ends it as an operator does. */
  async stop(): Promise<void> {
    const running = this.#process;
    if (!running || running.exitCode !== null) return;
    const ended = once(running, "exit");
    process.kill(this.#postmaster(), "SIGINT");
    await ended;
  }

  #postmaster(): number {
    return Number(readFileSync(join(this.folder, "data", "postmaster.pid"), "utf8").split("\n")[0]);
  }

  /** Ends the server and all its processes at once, in the midst of whatever they do. */
  async kill(): Promise<void> {
    const running = this.#process;
    const pid = this.#postmaster();
    const { stdout } = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" });
    const ended = running && running.exitCode === null ? once(running, "exit") : undefined;
    for (const one of [
      pid,
      ...stdout
        .split("\n")
        .map(Number)
        .filter((child) => child > 0),
    ])
      try {
        process.kill(one, "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#process;
    if (running && running.exitCode === null) {
      const ended = once(running, "exit");
      running.stdin?.end();
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The first server of this version makes the folder of its data, and those after it copy that. */
  #initialise(): void {
    const kept = `node_modules/.cache/initdb-${this.#binaries.folder.replaceAll(/\W/g, "-")}`;
    const copy = (from: string, to: string) => spawnSync("cp", ["-a", from, to]);
    if (existsSync(kept) && copy(kept, join(this.folder, "data")).status === 0) return;
    this.#initdb();
    // Servers may be made at once: one of them gives the folder its name.
    copy(join(this.folder, "data"), `${kept}-${process.pid}`);
    if (existsSync(kept)) rmSync(`${kept}-${process.pid}`, { recursive: true });
    else renameSync(`${kept}-${process.pid}`, kept);
  }

  #initdb(): void {
    const passwordFile = join(this.folder, "password");
    writeFileSync(passwordFile, PASSWORD);
    const { status, stderr } = spawnSync(
      join(this.#binaries.folder, "initdb"),
      [
        "-D",
        join(this.folder, "data"),
        "--username",
        "postgres",
        "--pwfile",
        passwordFile,
        "--auth-local",
        "trust",
        "--auth-host",
        "scram-sha-256",
        "--encoding",
        "UTF8",
        "--locale",
        "C",
        "--no-sync",
      ],
      { encoding: "utf8", ...this.#binaries.user },
    );
    if (status !== 0) throw new Error(`initdb failed: ${stderr}`);
    rmSync(passwordFile);
  }

  async #answers(): Promise<boolean> {
    const client = new Client({ host: this.folder, port: this.port, user: "postgres", database: "postgres" });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  }
}
