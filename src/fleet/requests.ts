import type { ExecutionId } from "../base/index.ts";
import { Listeners } from "../journal/packing/index.ts";
import { readName, storedName } from "./postgres/tables/names.ts";
import { quotedName } from "./postgres/tables/tables.ts";
import type { FleetDatabase } from "./fleet-store.ts";
import { type DriverRequest, type FleetRequests, type RequestListener, REQUESTS } from "../runtime/fleet.ts";

/** How long a request is kept, in seconds: its notice comes at once, or not at all. */
const KEPT_S = 60;
const REMEMBERED = 10_000;

/**
 * Requests to the drivers of a fleet, in whatever process. They are rows; the notice says only which row to read, so that a notice of a client of the database without rights to the
 * tables asks for nothing.
 */
export class DriverRequests implements FleetRequests {
  readonly #database: FleetDatabase;
  readonly #channel: string;
  readonly #listeners: Listeners<Parameters<RequestListener>>;
  readonly #heard = new Set<string>();
  #unread = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(database: FleetDatabase) {
    this.#database = database;
    this.#channel = `${database.schema}_requests`;
    let listening: Disposable | undefined;
    this.#listeners = new Listeners(
      () => (listening = database.onNotify(this.#channel, (payload) => this.#hear(payload))),
      () => listening?.[Symbol.dispose](),
    );
  }

  async send(execution: ExecutionId, request: DriverRequest): Promise<void> {
    const schema = quotedName(this.#database.schema);
    await this.#database.query(
      `WITH old AS (DELETE FROM ${schema}.requests WHERE at < now() - interval '${KEPT_S} seconds'),
       asked AS (INSERT INTO ${schema}.requests (execution, request)
         SELECT number, $2 FROM ${schema}.executions WHERE id = $1 RETURNING number)
       SELECT pg_notify($3, number::text) FROM asked`,
      [storedName(execution), request, this.#channel],
    );
  }

  listen(listener: RequestListener): Disposable {
    return this.#listeners.add((asked) => {
      try {
        listener(...asked);
      } catch {
        // What it throws is its own affair: the other listeners are told too.
      }
    });
  }

  /** Requests are told in their order. What cannot be read now is lost, as a notice may be. */
  #hear(number: string | undefined): void {
    if (number === undefined || !/^\d{1,18}$/.test(number) || this.#heard.has(number)) return;
    if (this.#unread === REMEMBERED) return;
    this.#heard.add(number);
    const [oldest] = this.#heard;
    if (this.#heard.size > REMEMBERED && oldest !== undefined) this.#heard.delete(oldest);
    this.#unread += 1;
    this.#reading = this.#reading
      .then(() => this.#read(number))
      .catch(() => {})
      .finally(() => (this.#unread -= 1));
  }

  async #read(number: string): Promise<void> {
    const schema = quotedName(this.#database.schema);
    const { rows } = await this.#database.query(
      `SELECT e.id, r.request FROM ${schema}.requests AS r JOIN ${schema}.executions AS e ON e.number = r.execution
       WHERE r.number = $1 AND at > now() - interval '${KEPT_S} seconds'`,
      [number],
      { idempotent: true },
    );
    // A process of another version may ask for more.
    const request = REQUESTS.find((one) => one === rows[0]?.["request"]);
    if (request) this.#listeners.tell([readName(String(rows[0]?.["id"])), request]);
  }
}
