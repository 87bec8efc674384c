import { once } from "node:events";
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Fleet } from "../../../src/fleet/index.ts";
import { createRuntime } from "../../../src/index.ts";
import { createMemorySandbox, scriptedModel, type ScriptedStep } from "../../../src/runtime/testing.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { useFleets } from "../../fleet/use-fleets.ts";
import { answered, openGateway, type OpenGateway, outputsOf, MESSAGES_TOOLS, RESPONSES_TOOLS } from "./gateways.ts";

const PROGRAM = `const one = await tools.depot({ id: 1 }); const two = await tools.depot({ id: 2 });
return one.n + two.n + (await tools.depot({ id: 3 })).n;`;
const SCRIPT: readonly ScriptedStep[] = [
  { text: "I add.", programs: [PROGRAM] },
  { calls: [{ tool: "depot", input: { id: 4 } }] },
  { text: "Three." },
];

/** A server has a runtime and a connection of its own. */
function serverOf(fleet: Fleet): Promise<OpenGateway> {
  return openGateway(SCRIPT, { runtime: { fleet, journal: undefined }, workers: "elsewhere" });
}

describe.skipIf(noPostgres)("servers that share a fleet", () => {
  const open = useFleets();
  test.each(["whole", "streamed"])(`Anthropic's client finds another server at each request, %s`, async (way) => {
    await using fleets = await open();
    let messages: Anthropic.MessageParam[] = [{ role: "user", content: "How many?" }];
    let container: string | undefined;
    for (let pauses = 0; pauses < 10; pauses += 1) {
      await using gateway = await serverOf(fleets.join());
      const client = gateway.anthropic().messages;
      const body = { model: "m", max_tokens: 100, tools: MESSAGES_TOOLS, messages, container: container ?? null };
      const message = await (way === "streamed" ? client.stream(body).finalMessage() : client.create(body));
      container = message.container?.id;
      messages = answered(messages, message);
      if (message.stop_reason === "end_turn") break;
    }
    expect(messages.at(-2)).toMatchObject({ content: [{ text: "Three." }] });
    // Three pauses of the program, and one call of the model.
    expect(messages).toHaveLength(11);
  });

  test.each([true, false])(`OpenAI's client finds another server at each request, stored: %s`, async (store) => {
    await using fleets = await open();
    let input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "How many?" }];
    let previous: string | undefined;
    let last: OpenAI.Responses.Response | undefined;
    for (let pauses = 0; pauses < 10; pauses += 1) {
      await using gateway = await serverOf(fleets.join());
      const after = store && previous !== undefined ? { previous_response_id: previous } : {};
      last = await gateway.openai().responses.create({ model: "m", tools: RESPONSES_TOOLS, store, input, ...after });
      previous = last.id;
      const outputs = outputsOf(last);
      if (outputs.length === 0) break;
      input = store ? outputs : [...input, ...(last.output as OpenAI.Responses.ResponseInputItem[]), ...outputs];
    }
    expect(last?.output_text).toBe("Three.");
  });

  test("a worker leaves a conversation alone whose client has left it in the midst of an answer", async () => {
    await using fleets = await open();
    const begun = Promise.withResolvers<void>();
    const turn = async ({ signal }: { readonly signal: AbortSignal }) => {
      begun.resolve();
      await once(signal, "abort");
      return { type: "aborted" };
    };
    const converse = async () => ({ say() {}, answer() {}, restore() {}, turn });
    const hangs = { ...scriptedModel([], { name: "scripted:m" }), converse } as never;
    const of = { fleet: fleets.join(), journal: undefined } as never;
    await using gateway = await openGateway(hangs, { runtime: of, workers: "elsewhere" });
    const left = new AbortController();
    const asking = gateway.openai().responses.create({ model: "m", input: "go" }, { signal: left.signal });
    await begun.promise;
    left.abort();
    await expect(asking).rejects.toThrow();
    await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox(), fleet: fleets.join() });
    const driven = async () => (await Array.fromAsync(runtime.executions.list())).some((one) => one.driven);
    await expect.poll(driven).toBe(false);
    const taken: string[] = [];
    const model = ({ execution }: { readonly execution: string }) => void taken.push(execution);
    await using _ = await runtime.fleet!.work(runtime, {
      model,
      onError: (error) => expect.unreachable(String(error)),
    });
    await expect.poll(fleets.wakes).toBe(0);
    expect(taken).toEqual([]);
  });

  test(`two servers that get the same answers at once run the program once, and one may ask to send them again`, async () => {
    await using fleets = await open();
    await using one = await serverOf(fleets.join());
    await using other = await serverOf(fleets.join());
    const user = { role: "user" as const, content: "How many?" };
    const asked = { model: "m", max_tokens: 100, tools: MESSAGES_TOOLS };
    const paused = await one.anthropic().messages.create({ ...asked, messages: [user] });
    const body = { ...asked, container: paused.container?.id ?? "", messages: answered([user], paused) };
    const send = async ({ anthropic }: OpenGateway) => {
      try {
        return (await anthropic().messages.create(body)).content;
      } catch (error) {
        return (error as { readonly status: number }).status;
      }
    };
    const both = await Promise.all([send(one), send(other)]);
    const again = await Promise.all([send(one), send(other)]);
    expect(again[0]).toMatchObject([{ type: "tool_use" }]);
    expect(again[1]).toEqual(again[0]);
    for (const got of both) if (typeof got !== "number") expect(got).toEqual(again[0]);
    // What the official clients send again by themselves.
    for (const got of both) if (typeof got === "number") expect([409, 429, 500, 503, 529]).toContain(got);
  }, 120_000);
});
