import { createRuntime } from "portcullis";
import { createServer } from "portcullis/serve";
import { createMemorySandbox, scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import { ask } from "../servers.ts";
import { payTool } from "../../support/tools.ts";

const TOKEN = "a-token-for-this-test";

const { tool: pay } = payTool();

/** A conversation that waits for a call, in a runtime with a server. */
async function waiting(hasModel: boolean) {
  const runtime = await createRuntime({ tools: [pay], sandbox: createMemorySandbox(), approve: () => "later" });
  const model = scriptedModel([
    { calls: [{ id: "pay-1", tool: "pay", input: { euros: 1 } }] },
    ({ results }) => ({ text: results[0]?.text ?? "" }),
  ]);
  const { execution } = await runtime.agent({ model, task: "Pay one." });
  const server = await createServer(runtime, { token: TOKEN, models: () => (hasModel ? model : undefined) });
  return {
    execution,
    asked: (method: string, path: string, body?: unknown) =>
      ask(server, method, `/v1/executions/${execution}${path}`, { key: TOKEN, body }),
    async [Symbol.asyncDispose]() {
      await server.close({ drainMs: 0 });
      await runtime[Symbol.asyncDispose]();
    },
  };
}

test("a waiting conversation is shown, decided and continued with its model", async () => {
  await using door = await waiting(true);
  const shown = await door.asked("GET", "");
  expect(shown.json).toMatchObject({
    kind: "conversation",
    state: "waiting",
    waitsFor: ["pay"],
    conversation: { task: "Pay one.", turns: 1, ending: { type: "waiting", approvals: [{ callId: "pay-1" }] } },
  });
  const decided = await door.asked("POST", "/decisions", { decisions: { "pay-1": { allow: true } } });
  expect(decided.status).toBe(200);
  const events = await door.asked("GET", "/events");
  for (const type of ["conversation_started", "turn_ended", "call_waiting", "call_decided", "conversation_ended"])
    expect(events.text).toContain(`event: ${type}`);
  expect((await door.asked("GET", "")).json).toMatchObject({
    state: "ended",
    conversation: { ending: { type: "answered", answer: '{"paid":1}' } },
  });
});

test("a conversation is cancelled with its model, and without one the refusal says so", async () => {
  await using door = await waiting(true);
  expect((await door.asked("POST", "/cancel", {})).json).toMatchObject({
    state: "ended",
    conversation: { ending: { type: "cancelled" } },
  });
  await using other = await waiting(false);
  const refused = await other.asked("POST", "/cancel", {});
  expect([refused.status, refused.json.error.code]).toEqual([409, "model_unavailable"]);
});
