import { rmSync } from "node:fs";
import { join } from "node:path";
import { createSqliteJournal } from "portcullis";
import { expect, test } from "vitest";
import { openServerProcess } from "./processes.ts";
import { openServer } from "./servers.ts";
import { newFolder } from "../support/new-folder.ts";

const folder = newFolder();

const SLOW = "return await tools.crm.slow({})";

test("a closing server waits for running executions and refuses new ones", async () => {
  await using door = await openServer();
  const running = door.run({ program: SLOW });
  await door.slow.begun();
  const closing = door.server.close({ drainMs: 60_000 });
  const refused = await door.run({ program: "return 1" });
  expect([refused.status, refused.json.error.code]).toEqual([503, "server_closing"]);
  expect((await door.ask("GET", "/readyz")).status).toBe(503);
  expect((await door.ask("GET", "/healthz")).status).toBe(200);
  door.slow.release();
  expect((await running).json.outcome).toEqual({ type: "completed", value: 1 });
  expect(await closing).toEqual({ leftOpen: 0 });
});

test("streams end with the server, after the last event of what still ended", async () => {
  await using door = await openServer();
  await door.run({ program: SLOW, id: "slow", wait: false });
  const events = door.ask("GET", "/v1/executions/slow/events");
  await door.slow.begun();
  const closing = door.server.close({ drainMs: 60_000 });
  door.slow.release();
  await closing;
  expect((await events).text).toContain("event: execution_ended");
});

test("closing the server ends its executions, and the runtime continues", async () => {
  await using door = await openServer();
  await door.server.close();
  expect((await door.runtime.execute("return 1")).outcome).toEqual({ type: "completed", value: 1 });
});

test("a journal that is gone is a 503 with a sentence that names no file, and nothing is begun", async () => {
  const path = join(folder, "gone.db");
  const journal = createSqliteJournal({ path });
  await using door = await openServer(undefined, { journal });
  expect((await door.ask("GET", "/readyz")).status).toBe(200);
  rmSync(path);
  for (const [method, at, body] of [
    ["POST", "/v1/executions", { program: "return 1" }],
    ["GET", "/v1/executions", undefined],
    ["GET", "/v1/executions/x", undefined],
    ["GET", "/v1/executions/x/events", undefined],
    ["GET", "/readyz", undefined],
  ] as const) {
    const answer = await door.ask(method, at, { body });
    expect([answer.status, answer.json.error.code], at).toEqual([503, "journal_gone"]);
    expect(answer.text).not.toContain(folder);
  }
  expect(door.errors.splice(0)).not.toEqual([]);
  journal[Symbol.dispose]();
  expect((await door.ask("GET", "/v1/executions")).status).toBe(503);
});

test("a server that is told to end loses nothing that it has accepted, and the next one ends it", async () => {
  const path = join(folder, "told.db");
  const program = 'await tools.clock.wait({ name: "go" }); return (await tools.shop.list({ n: 3 })).length';
  const ids = ["a", "b", "c", "d"];
  {
    await using server = await openServerProcess("--journal", path, "--drain", "0");
    const asked = ids.map(async (execution, index) => {
      const answer = await server.ask("POST", "/v1/executions", { program, id: execution, wait: index % 2 === 0 });
      const { error } = (await answer.json()) as { readonly error?: { readonly code: string } };
      return error ? [answer.status, error.code, answer.headers.has("retry-after")] : answer.status;
    });
    // All have begun, whether their requests are answered or wait.
    await expect
      .poll(
        async () =>
          (await (await server.ask("GET", "/v1/executions?state=running")).text()).split('"execution"').length - 1,
      )
      .toBe(ids.length);
    expect(await server.end("SIGTERM")).toBe(0);
    const suspended = [503, "runtime_suspended", true];
    expect(await Promise.all(asked)).toEqual([suspended, 202, suspended, 202]);
    expect(server.said()).toMatch(/\b4 executions are left open/);
  }
  await using next = await openServerProcess("--journal", path);
  await next.ask("POST", "/v1/executions", { program: 'await tools.clock.go({ name: "go" })' });
  for (const id of ids) {
    await (await next.ask("GET", `/v1/executions/${id}/events`)).text();
    const shown = (await (await next.ask("GET", `/v1/executions/${id}`)).json()) as { readonly outcome?: unknown };
    expect(shown.outcome, id).toEqual({ type: "completed", value: 3 });
  }
});

test("a server that is closed listens no more, also one that is closed while it begins to", async () => {
  await using closed = await openServer();
  await closed.server.close();
  await expect(closed.server.listen({ port: 0 })).rejects.toMatchObject({ code: "runtime_closed" });

  await using door = await openServer();
  const listening = door.server.listen({ port: 0 });
  const again = door.server.listen({ port: 0 });
  await expect(again).rejects.toMatchObject({ code: "option_invalid" });
  const refused = expect(listening).rejects.toMatchObject({ code: "runtime_closed" });
  await door.server.close();
  await refused;

  await using taken = await openServer();
  const { url } = await taken.server.listen({ port: 0 });
  await using other = await openServer();
  const port = Number(new URL(url).port);
  await expect(other.server.listen({ port })).rejects.toMatchObject({ code: "door_unavailable" });
  expect((await other.server.listen({ port: 0 })).url).not.toBe(url);
});
