import { afterAll, beforeAll } from "vitest";
import { PostgresServer } from "./postgres-server.ts";

/** Starts a server before the tests of a suite, and ends it after them. */
export function usePostgres(onStarted: (server: PostgresServer) => void): void {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    server = await PostgresServer.start();
    onStarted(server);
  }, 120_000);
  afterAll(() => server?.[Symbol.asyncDispose](), 60_000);
}
