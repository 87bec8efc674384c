import { afterAll, beforeAll, onTestFinished } from "vitest";
import { createPostgresJournal, type PostgresJournal, type PostgresJournalOptions } from "../../src/fleet/index.ts";
import { PostgresServer } from "./postgres-server.ts";

/** Starts a server before the tests of a suite, and ends it after them. What is returned is that server once it is started. */
export function usePostgres(prepare: (server: PostgresServer) => unknown = () => {}): PostgresServer {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    server = await PostgresServer.start();
    await prepare(server);
  }, 300_000);
  afterAll(() => server?.[Symbol.asyncDispose](), 60_000);
  return new Proxy({} as PostgresServer, {
    get: (_, name) => {
      const value: unknown = Reflect.get(server as object, name, server);
      return typeof value === "function" ? (value.bind(server) as unknown) : value;
    },
  });
}

let count = 0;

/** Opens journals of a server until the test has ended, each in a schema of its own if none is named. */
export const journalsOf =
  (server: PostgresServer) =>
  (options: Partial<PostgresJournalOptions> = {}): PostgresJournal => {
    const schema = `journal_${(count += 1)}`;
    const journal = createPostgresJournal({ url: server.url(), schema, unavailableMs: 60_000, ...options });
    onTestFinished(() => journal[Symbol.asyncDispose]());
    return journal;
  };
