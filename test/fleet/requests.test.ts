import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { driverRequests } from "../../src/fleet/requests.ts";
import type { PostgresJournal } from "../../src/fleet/index.ts";
import { header } from "../journal/records.ts";
import { noPostgres } from "../postgres-support/postgres-server.ts";
import { type SharedFleet, useFleets } from "./use-fleets.ts";

describe.skipIf(noPostgres)("requests to drivers", () => {
  const share = useFleets();
  let shared: SharedFleet;
  let journal: PostgresJournal;
  let requests: ReturnType<typeof driverRequests>;
  const heard: string[] = [];

  beforeAll(async () => {
    shared = await share();
    journal = shared.open();
    for (const id of ["one\0", "two\0"]) await journal.create(header(id));
    requests = driverRequests(journal);
    const listening = Promise.withResolvers<void>();
    requests.listen((execution, request) => heard.push(`${request} ${execution}`));
    journal.onNotify("portcullis_requests", () => listening.resolve());
    await listening.promise;
  });
  afterAll(() => shared[Symbol.asyncDispose]());

  /** Requests are heard in their order: what came before this one was heard, or never will be. */
  async function heardBefore(): Promise<string[]> {
    await requests.send("two\0", "revoke");
    await expect.poll(() => heard.at(-1)).toBe("revoke two\0");
    return heard.splice(0).slice(0, -1);
  }

  test("are heard by other processes, until they listen no more", async () => {
    const other = driverRequests(shared.open());
    const gone = requests.listen(() => expect.unreachable("it listens no more"));
    gone[Symbol.dispose]();
    await other.send("one\0", "cancel");
    await other.send("one\0", "interrupt");
    await other.send("unknown", "cancel");
    expect(await heardBefore()).toEqual(["cancel one\0", "interrupt one\0"]);
  });

  test("are not made by notices that a client of the database without rights to the tables sends", async () => {
    await journal.query("CREATE ROLE stranger");
    for (const payload of ["", "1", "2", "x", '["cancel","two"]', "9".repeat(18), "9".repeat(400), "1; DROP TABLE x"])
      await journal.query(`SET ROLE stranger; SELECT pg_notify('portcullis_requests', '${payload}'); RESET ROLE`);
    expect(await heardBefore()).toEqual([]);
  });

  test("that are old, or that this version does not know, are passed over, and the old ones are not kept", async () => {
    for (const [request, age] of [
      ["cancel", "2 minutes"],
      ["delete", "0"],
    ])
      await journal.query(
        `INSERT INTO portcullis.requests (at, execution, request) VALUES (now() - interval '${age}', 1, '${request}');
         SELECT pg_notify('portcullis_requests', max(number)::text) FROM portcullis.requests`,
      );
    expect(await heardBefore()).toEqual([]);
    expect(
      (await journal.query("SELECT * FROM portcullis.requests WHERE at < now() - interval '1 minute'")).rows,
    ).toEqual([]);
  });
});
