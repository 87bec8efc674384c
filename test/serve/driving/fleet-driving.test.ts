import { createRuntime } from "portcullis";
import { createServer } from "portcullis/serve";
import { createMemorySandbox } from "portcullis/testing";
import { describe, expect, test } from "vitest";
import { useFleets } from "../../fleet/use-fleets.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { type World, world } from "../authority/world.ts";
import { keyOf } from "../servers.ts";

const token = keyOf("all-servers");

/** A server of the fleet, with a runtime of its own. */
async function serve(here: World, workers: "here" | "elsewhere") {
  const { server, errors, ask } = await here.serve({ token, workers });
  await server.listen({ port: 0 });
  return {
    server,
    errors,
    ask: (method: string, path: string, body?: object) => ask(method, path, { key: token, body }),
  };
}

async function work(here: World) {
  const runtime = await here.open();
  return runtime.fleet!.work(runtime, { reconcileMs: 100 });
}

const SLOW = { program: "return await tools.slow({});", id: "e", wait: false };

describe.skipIf(noPostgres)("servers and workers of a fleet", () => {
  const fleets = useFleets();
  test("a decision and the stream of events work at any server, while a worker elsewhere drives", async () => {
    await using here = world({ fleets: await fleets() });
    const [one, other] = [await serve(here, "elsewhere"), await serve(here, "elsewhere")];
    const body = { program: "return await tools.ask({});", id: "e" };
    expect((await one.ask("POST", "/v1/executions", { ...body, wait: false })).status).toBe(202);
    const events = other.ask("GET", "/v1/executions/e/events");
    await using worker = await work(here);
    expect((await other.ask("POST", "/v1/executions", body)).json.state).toBe("waiting");
    const decide = (at: typeof one, allow: boolean) =>
      at.ask("POST", "/v1/executions/e/decisions", { decisions: { 1: { allow } } });
    expect((await decide(other, true)).status).toBe(200);
    expect((await events).text).toContain("event: execution_ended");
    expect((await one.ask("GET", "/v1/executions/e")).json.outcome).toEqual({ type: "completed", value: "ask" });
    const twice = await decide(one, false);
    expect([twice.status, twice.json.error.code]).toEqual([409, "decision_exists"]);
    expect([worker.driven, one.errors, other.errors]).toEqual([0, [], []]);
  });

  test("a server cancels what another process drives", async () => {
    await using here = world({ fleets: await fleets() });
    const { ask } = await serve(here, "elsewhere");
    await using worker = await work(here);
    await ask("POST", "/v1/executions", SLOW);
    await here.slow.begun.promise;
    expect(worker.driven).toBe(1);
    const { json } = await ask("POST", "/v1/executions/e/cancel", {});
    expect(json).toMatchObject({ state: "ended", outcome: { type: "cancelled" } });
  });

  test("a server is a worker of its fleet unless its workers are elsewhere, and leaves what it drives when it closes", async () => {
    await using here = world({ fleets: await fleets() });
    const { server, ask } = await serve(here, "here");
    await ask("POST", "/v1/executions", SLOW);
    await here.slow.begun.promise;
    expect(await server.close({ drainMs: 0 })).toEqual({ leftOpen: 1 });
  });
});

test("workers elsewhere are refused without a fleet", async () => {
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox() });
  await expect(createServer(runtime, { workers: "elsewhere" })).rejects.toThrow(
    'createServer({ workers: "elsewhere" }): the runtime belongs to no fleet',
  );
});
