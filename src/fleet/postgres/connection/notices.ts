import type { Client } from "pg";
import { after, cancel, queueMicrotask, type Timer, ignore } from "../../../base/index.ts";
import { Listeners } from "../../../journal/packing/index.ts";
import type { NoticeListener } from "../shown-types.ts";
import type { Database } from "./database.ts";

/** Wait between two attempts to reach the database, in milliseconds: it doubles up to the last. */
const [FIRST_RETRY_MS, MAX_RETRY_MS] = [20, 2000];
/** How often a connection that is silent is asked whether it is still there, in milliseconds. */
const PULSE_MS = 10_000;

/**
 * The listeners of channels (`LISTEN`), on one connection, which is open while there are any, and is made again for as
 * long as there are. Each time channels are listened to from then on, their listeners are told that notices may have
 * been lost.
 */
export class Notices {
  readonly #database: Database;
  readonly #channels = new Map<string, Listeners<string | undefined>>();
  #client: Client | undefined;
  #isConnecting = false;
  #retryMs = FIRST_RETRY_MS;
  #timer: Timer | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  add(channel: string, listener: NoticeListener): Disposable {
    const entry = this.#channels.get(channel);
    const listeners = entry ?? new Listeners<string | undefined>(undefined, () => this.#leave(channel));
    this.#channels.set(channel, listeners);
    const added = listeners.add(listener);
    let isListening = true;
    if (!this.#client) void this.#connect();
    else if (entry) queueMicrotask(() => isListening && listener(undefined));
    else void this.#listen(this.#client, [channel]);
    return {
      [Symbol.dispose]: () => {
        isListening = false;
        added[Symbol.dispose]();
      },
    };
  }

  async close(): Promise<void> {
    this.#channels.clear();
    await this.#end();
  }

  #leave(channel: string): void {
    this.#channels.delete(channel);
    if (this.#channels.size === 0) void this.#end();
    else void this.#client?.query(`UNLISTEN ${quotedChannel(channel)}`).catch(ignore);
  }

  async #end(): Promise<void> {
    cancel(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(ignore);
  }

  async #connect(): Promise<void> {
    if (this.#isConnecting) return;
    this.#isConnecting = true;
    cancel(this.#timer);
    try {
      const client = await this.#database.connect();
      this.#isConnecting = false;
      if (this.#channels.size === 0 || this.#database.isClosed) return void client.end();
      this.#client = client;
      // The connection must not keep a process alive that has nothing else to do.
      (client as Client & { readonly unref: () => void }).unref();
      client.once("end", () => {
        if (this.#client !== client) return;
        this.#client = undefined;
        this.#later();
      });
      client.on("notification", ({ channel, payload = "" }) => this.#channels.get(channel)?.tell(payload));
      await this.#listen(client, [...this.#channels.keys()]);
      this.#retryMs = FIRST_RETRY_MS;
      this.#pulse(client);
    } catch {
      // What is wrong with the database is told to those who read or write.
      this.#isConnecting = false;
      this.#later();
    }
  }

  #later(): void {
    if (this.#channels.size === 0 || this.#database.isClosed) return;
    cancel(this.#timer);
    this.#timer = after(this.#retryMs * (0.5 + Math.random() / 2), () => void this.#connect());
    this.#timer.unref();
    this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
  }

  async #listen(client: Client, channels: readonly string[]): Promise<void> {
    try {
      for (const channel of channels) await client.query(`LISTEN ${quotedChannel(channel)}`);
      for (const channel of channels) this.#channels.get(channel)?.tell(undefined);
    } catch {
      // The connection is lost: its end begins another.
      client.end().catch(ignore);
    }
  }

  /** A connection can be lost without a word of it. */
  #pulse(client: Client): void {
    this.#timer = after(PULSE_MS, () => {
      if (this.#client !== client) return;
      client.query("SELECT 1").then(
        () => this.#pulse(client),
        () => client.end().catch(ignore),
      );
    });
    this.#timer.unref();
  }
}

function quotedChannel(channel: string): string {
  return `"${channel.replaceAll('"', '""')}"`;
}
