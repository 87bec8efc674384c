import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { beforeEach, expect, test } from "vitest";
import { createMemoryJournal } from "../../src/journal/index.ts";
import type { Approve } from "../../src/index.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { openRefunds, THREE } from "./approval/rules.ts";
import { anthropicClient } from "./models/anthropic.ts";

/*
 * A program with three approvals, ten minutes of waiting for each by the clock, costs at most two requests to the model more
 * than one without. The loops that ask by their own means are in approval/, where each counts its requests.
 */

const TEN_MINUTES = 600_000;
const PAID = ["paid 1", "paid 2", "paid 3"];

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});

/** Answers after ten minutes. */
const slowly = () => {
  const asked: string[] = [];
  const approve: Approve = async ({ callId }) => {
    asked.push(callId);
    await new Promise((resolve) => setImmediate(resolve));
    clock.pass(TEN_MINUTES);
    return true;
  };
  return { asked, approve };
};

test("in runtime.agent an approver that takes its time costs no request, and the program is told nothing of it", async () => {
  const { asked, approve } = slowly();
  await using refunds = await openRefunds({ policy: "ask-writes", approve });
  const model = scriptedModel([{ programs: [THREE] }, ({ results }) => ({ text: results[0]?.text ?? "" })]);
  const { answer, usage } = await refunds.runtime.agent({ model, task: "refund" });
  expect(JSON.parse(answer ?? "")).toEqual(PAID);
  expect([asked, usage.turns]).toEqual([["1", "2", "3"], 2]);
});

test("a conversation that waits in the journal, in a process for each approval, asks its model for no turn more", async () => {
  const journal = createMemoryJournal();
  let requests = 0;
  const script = () =>
    scriptedModel([
      () => {
        requests += 1;
        return { programs: [THREE] };
      },
      ({ results }) => {
        requests += 1;
        return { text: results[0]?.text ?? "" };
      },
    ]);
  const open = () => openRefunds({ policy: "ask-writes", approve: () => "later", journal });
  {
    await using refunds = await open();
    const { ending } = await refunds.runtime.agent({ model: script(), task: "refund", id: "talk" });
    expect(ending.type).toBe("waiting");
  }
  let answer: string | undefined;
  for (const _ of PAID) {
    clock.pass(TEN_MINUTES);
    await using refunds = await open();
    const { ending } = await refunds.runtime.execution("talk").resume({ model: script() });
    const [first] = ending.type === "waiting" ? ending.approvals : [];
    await refunds.runtime.execution("talk").decide({ [first?.callId ?? ""]: { allow: true } });
    ({ answer } = await refunds.runtime.execution("talk").resume({ model: script() }));
  }
  expect(JSON.parse(answer ?? "")).toEqual(PAID);
  expect(requests).toBe(2);
});

test("in Anthropic's tool runner an approver that takes its time costs no request", async () => {
  const { asked, approve } = slowly();
  await using refunds = await openRefunds({ policy: "ask-writes" });
  const { client, asked: requests } = anthropicClient({ code: THREE });
  const { run_program } = await refunds.runtime.asTool("anthropic", { approve });
  await client.beta.messages
    .toolRunner({
      model: "test",
      max_tokens: 100,
      messages: [{ role: "user", content: "refund" }],
      tools: [run_program],
    })
    .runUntilDone();
  expect(refunds.paid).toEqual([1, 2, 3]);
  expect([asked, requests.length]).toEqual([["1", "2", "3"], 2]);
});

test("an MCP client is asked three times within one call, which its model made with one request", async () => {
  await using refunds = await openRefunds({ policy: "ask-writes" });
  const { run_program } = await refunds.runtime.asTool("mcp");
  const server = new McpServer({ name: "server", version: "1.0.0" });
  server.registerTool(run_program.name, run_program.config, run_program.handler);
  const client = new Client({ name: "client", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } } });
  let asked = 0;
  client.setRequestHandler("elicitation/create", async () => {
    asked += 1;
    clock.pass(TEN_MINUTES);
    return { action: "accept", content: { allow: true } };
  });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(one), client.connect(other)]);
  const { content } = await client.callTool({ name: "run_program", arguments: { code: THREE } });
  await client.close();
  expect(content).toMatchObject([{ type: "text", text: JSON.stringify(PAID) }]);
  expect([asked, refunds.paid]).toEqual([3, [1, 2, 3]]);
});

test("an MCP client that grants further calls is asked once", async () => {
  await using refunds = await openRefunds({ policy: "ask-writes" });
  const { run_program } = await refunds.runtime.asTool("mcp");
  const server = new McpServer({ name: "server", version: "1.0.0" });
  server.registerTool(run_program.name, run_program.config, run_program.handler);
  const client = new Client({ name: "client", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } } });
  let asked = 0;
  client.setRequestHandler("elicitation/create", async () => {
    asked += 1;
    return { action: "accept", content: { allow: true, more: 2 } };
  });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(one), client.connect(other)]);
  await client.callTool({ name: "run_program", arguments: { code: THREE } });
  await client.close();
  expect([asked, refunds.paid]).toEqual([1, [1, 2, 3]]);
});
