import type { ExecutionId } from "../execution-id.ts";
import type { Database } from "./connection/database.ts";
import { quoted } from "./tables/tables.ts";
import { nameOf, storedName } from "./tables/names.ts";
import type { Notices } from "./connection/notices.ts";

/** Called with a request to the driver of an execution. */
export type RequestListener = (execution: ExecutionId, request: string) => void;

/** How long a request is kept, in seconds: its notice comes at once, or not at all. */
const KEPT_S = 60;
/** Requests that are read at once, and told numbers that are remembered. */
const [AT_ONCE, REMEMBERED] = [1000, 10_000];

/**
 * Requests to whatever process drives an execution. They are rows; the notice says only which row to read, so that a notice of
 * a client of the database without rights to the tables asks for nothing.
 */
export class Requests {
  readonly #database: Database;
  readonly #notices: Notices;
  readonly #channel: string;
  readonly #table: string;
  readonly #executions: string;
  readonly #listeners = new Set<{ readonly listener: RequestListener }>();
  /** Numbers that are to be read. */
  readonly #named = new Set<string>();
  readonly #told = new Set<string>();
  #isReading = false;
  #listening: Disposable | undefined;

  constructor(database: Database, notices: Notices) {
    const schema = quoted(database.schema);
    this.#database = database;
    this.#notices = notices;
    this.#channel = `${database.schema}_requests`;
    this.#table = `${schema}.requests`;
    this.#executions = `${schema}.executions`;
  }

  /** Asks the driver of an execution, if there is one. A request may be lost. */
  async send(execution: ExecutionId, request: string): Promise<void> {
    await this.#database.query({
      name: "portcullis request",
      text: `WITH old AS (DELETE FROM ${this.#table} WHERE at < now() - interval '${KEPT_S} seconds'),
        asked AS (INSERT INTO ${this.#table} (execution, request)
          SELECT number, $2 FROM ${this.#executions} WHERE id = $1 RETURNING number)
        SELECT pg_notify($3, number::text) FROM asked`,
      values: [storedName(execution), request, this.#channel],
    });
  }

  listen(listener: RequestListener): Disposable {
    const entry = { listener };
    this.#listeners.add(entry);
    this.#listening ??= this.#notices.add(this.#channel, (payload) => this.#hear(payload));
    return {
      [Symbol.dispose]: () => {
        if (!this.#listeners.delete(entry) || this.#listeners.size > 0) return;
        this.#listening?.[Symbol.dispose]();
        this.#listening = undefined;
      },
    };
  }

  #hear(payload: string | undefined): void {
    if (payload === undefined || !/^\d{1,18}$/.test(payload) || this.#told.has(payload)) return;
    if (this.#named.size < REMEMBERED) this.#named.add(payload);
    if (!this.#isReading) void this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    while (this.#named.size > 0) {
      const numbers = [...this.#named].slice(0, AT_ONCE);
      for (const number of numbers) this.#named.delete(number);
      // What cannot be read now is lost, as a notice may be.
      await this.#tellThose(numbers).catch(() => {});
    }
    this.#isReading = false;
  }

  async #tellThose(numbers: readonly string[]): Promise<void> {
    const { rows } = await this.#database.query(
      {
        name: "portcullis requests",
        text: `SELECT r.number, e.id, r.request FROM ${this.#table} AS r JOIN ${this.#executions} AS e ON e.number = r.execution
            WHERE r.number = ANY($1::bigint[]) AND at > now() - interval '${KEPT_S} seconds' ORDER BY r.number`,
        values: [numbers],
      },
      { idempotent: true },
    );
    for (const { number, id, request } of rows) this.#tell(String(number), nameOf(String(id)), String(request));
  }

  #tell(number: string, execution: ExecutionId, request: string): void {
    if (this.#told.has(number)) return;
    this.#told.add(number);
    const [oldest] = this.#told;
    if (this.#told.size > REMEMBERED && oldest !== undefined) this.#told.delete(oldest);
    for (const { listener } of this.#listeners) listener(execution, request);
  }
}
