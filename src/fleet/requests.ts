import { type ExecutionId, ignore } from "../base/index.ts";
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
export function driverRequests(database: FleetDatabase): FleetRequests {
  const channel = `${database.schema}_requests`;
  const schema = quotedName(database.schema);
  const heard = new Set<string>();
  let unread = 0;
  let reading: Promise<unknown> = Promise.resolve();
  /** Requests are told in their order. What cannot be read now is lost, as a notice may be. */
  const hear = (number: string | undefined): void => {
    if (number === undefined || !/^\d{1,18}$/.test(number) || heard.has(number)) return;
    if (unread === REMEMBERED) return;
    heard.add(number);
    const [oldest] = heard;
    if (heard.size > REMEMBERED) heard.delete(oldest!);
    unread += 1;
    reading = reading
      .then(() => readRequest(database, schema, number))
      .then((asked) => asked && listeners.tell(asked))
      .catch(ignore)
      .finally(() => (unread -= 1));
  };
  let listening: Disposable | undefined;
  const listeners = new Listeners<Parameters<RequestListener>>(
    () => (listening = database.onNotify(channel, hear)),
    () => listening?.[Symbol.dispose](),
  );
  return {
    async send(execution: ExecutionId, request: DriverRequest): Promise<void> {
      await database.query(
        `WITH old AS (DELETE FROM ${schema}.requests WHERE at < now() - interval '${KEPT_S} seconds'),
         asked AS (INSERT INTO ${schema}.requests (execution, request)
           SELECT number, $2 FROM ${schema}.executions WHERE id = $1 RETURNING number)
         SELECT pg_notify($3, number::text) FROM asked`,
        [storedName(execution), request, channel],
      );
    },

    listen: (listener: RequestListener): Disposable =>
      listeners.add((asked) => {
        try {
          listener(...asked);
        } catch {
          // What it throws is its own affair: the other listeners are told too.
        }
      }),
  };
}

/** Undefined for one that is gone, and for what a process of another version asks. */
async function readRequest(
  database: FleetDatabase,
  schema: string,
  number: string,
): Promise<Parameters<RequestListener> | undefined> {
  const { rows } = await database.query(
    `SELECT e.id, r.request FROM ${schema}.requests AS r JOIN ${schema}.executions AS e ON e.number = r.execution
     WHERE r.number = $1 AND at > now() - interval '${KEPT_S} seconds'`,
    [number],
    { idempotent: true },
  );
  const request = REQUESTS.find((one) => one === rows[0]?.["request"]);
  return request && [readName(String(rows[0]?.["id"])), request];
}
