import { createServer, type PortcullisServer } from "portcullis/serve";
import { createRuntime, defineTool } from "portcullis";
import { createMemorySandbox } from "portcullis/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type SharedFleet, useFleets } from "../../fleet/use-fleets.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";

const TOKEN = "a-token-of-all-servers";
const common = { description: "d", inputSchema: z.object({}), allowedCallers: ["programmatic"] } as const;

/** Servers of one fleet, and its workers, each with a runtime of its own. */
async function share(fleets: () => Promise<SharedFleet>) {
  const stack = new AsyncDisposableStack();
  const shared = stack.use(await fleets());
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const begun = Promise.withResolvers<void>();
  const tools = [
    defineTool({ ...common, name: "pay", effect: "write", approval: "always", execute: () => "paid" }),
    defineTool({
      ...common,
      name: "slow",
      effect: "read",
      execute: async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
        begun.resolve();
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      },
    }),
  ];
  const open = async () =>
    stack.use(
      await createRuntime({
        tools,
        fleet: shared.join(),
        sandbox: createMemorySandbox(),
        approve: () => "later",
        logger: { error: () => {} },
      }),
    );
  const serve = async (workers: "here" | "elsewhere") => {
    const server = await createServer(await open(), { token: TOKEN, workers, onError });
    stack.defer(async () => void (await server.close({ drainMs: 0 })));
    await server.listen({ port: 0 });
    return server;
  };
  const work = async () => {
    const runtime = await open();
    return stack.use(await runtime.fleet!.work(runtime, { onError, reconcileMs: 100 }));
  };
  return { serve, work, errors, begun: begun.promise, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function ask(server: PortcullisServer, method: string, path: string, body?: unknown) {
  const answer = await server.fetch(
    new Request(`http://localhost:7332${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
  return { status: answer.status, text: await answer.text() };
}

const json = ({ text }: { readonly text: string }) => JSON.parse(text) as Record<string, unknown>;

describe.skipIf(noPostgres)("servers and workers of a fleet", () => {
  const fleets = useFleets();
  test("a decision and the stream of events work at any server, while a worker elsewhere drives", async () => {
    await using shared = await share(fleets);
    const [one, other] = [await shared.serve("elsewhere"), await shared.serve("elsewhere")];
    const program = "return await tools.pay({});";
    const begun = await ask(one, "POST", "/v1/executions", { program, id: "e", wait: false });
    expect(begun.status).toBe(202);
    const events = ask(other, "GET", "/v1/executions/e/events");
    await using worker = await shared.work();
    const again = json(await ask(other, "POST", "/v1/executions", { program, id: "e", wait: true }));
    expect(again).toMatchObject({ state: "waiting" });
    const decided = await ask(other, "POST", "/v1/executions/e/decisions", { decisions: { 1: { allow: true } } });
    expect(decided.status).toBe(200);
    const { text } = await events;
    expect(text).toContain("event: execution_ended");
    expect(json(await ask(one, "GET", "/v1/executions/e"))).toMatchObject({
      outcome: { type: "completed", value: "paid" },
    });
    const twice = await ask(one, "POST", "/v1/executions/e/decisions", { decisions: { 1: { allow: false } } });
    expect([twice.status, json(twice)["error"]]).toMatchObject([409, { code: "decision_exists" }]);
    expect(worker.driven).toBe(0);
    expect(shared.errors).toEqual([]);
  });

  test("a server cancels what another process drives", async () => {
    await using shared = await share(fleets);
    const server = await shared.serve("elsewhere");
    await using worker = await shared.work();
    await ask(server, "POST", "/v1/executions", {
      program: "return await tools.slow({});",
      id: "e",
      wait: false,
    });
    await shared.begun;
    expect(worker.driven).toBe(1);
    const cancelled = await ask(server, "POST", "/v1/executions/e/cancel", {});
    expect(json(cancelled)).toMatchObject({ state: "ended", outcome: { type: "cancelled" } });
  });

  test("a server is a worker of its fleet unless its workers are elsewhere, and leaves what it drives when it closes", async () => {
    await using shared = await share(fleets);
    const server = await shared.serve("here");
    const program = "return await tools.slow({});";
    await ask(server, "POST", "/v1/executions", { program, id: "e", wait: false });
    await shared.begun;
    expect(await server.close({ drainMs: 0 })).toEqual({ leftOpen: 1 });
  });
});

test("workers elsewhere are refused without a fleet", async () => {
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox() });
  await expect(createServer(runtime, { workers: "elsewhere" })).rejects.toThrow(
    'createServer({ workers: "elsewhere" }): the runtime belongs to no fleet',
  );
});
