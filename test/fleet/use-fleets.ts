import { createFleet, type Fleet, createPostgresJournal, type PostgresJournal } from "../../src/fleet/index.ts";
import { usePostgres } from "../postgres-support/use-postgres.ts";

/** What processes of a fleet share: a database. */
export interface SharedFleet extends AsyncDisposable {
  readonly url: string;
  /** The journal of one more process. */
  readonly open: (schema?: string) => PostgresJournal;
  /** The part of the fleet that one more process is. */
  readonly join: () => Fleet;
  /** Forgets all wakes. */
  readonly loseWakes: () => Promise<void>;
  /** Wakes that wait or are being taken. */
  readonly wakes: () => Promise<number>;
}

/** Starts PostgreSQL for the tests of a suite. Returns a function that makes a database for a fleet. */
export function useFleets(): () => Promise<SharedFleet> {
  const server = usePostgres();
  let count = 0;
  return async () => {
    const database = `fleet_${(count += 1)}`;
    await server.sql(`CREATE DATABASE ${database}`);
    const stack = new AsyncDisposableStack();
    const url = server.url({ database });
    const open = (schema = "portcullis") => stack.use(createPostgresJournal({ url, schema }));
    const own = open();
    const jobs = "SELECT count(*)::int AS jobs FROM portcullis_queue.job WHERE state <= 'active'";
    return {
      url,
      open,
      join: () => stack.use(createFleet({ journal: open() })),
      loseWakes: async () => void (await own.query("TRUNCATE portcullis_queue.job")),
      wakes: async () => Number((await own.query(jobs)).rows[0]?.["jobs"]),
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  };
}
