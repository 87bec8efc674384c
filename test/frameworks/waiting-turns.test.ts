import { beforeEach, expect, test } from "vitest";
import { createMemoryJournal } from "../../src/journal/index.ts";
import type { Approve } from "../../src/index.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { openRefunds, THREE } from "./approval/rules.ts";
import { anthropicClient } from "./models/anthropic.ts";
import { clientThat, connectBefore2026, textOf } from "./models/mcp.ts";

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
  const counted = <Step>(step: Step): Step => ((requests += 1), step);
  const script = () =>
    scriptedModel([() => counted({ programs: [THREE] }), ({ results }) => counted({ text: results[0]?.text ?? "" })]);
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
  const messages = [{ role: "user" as const, content: "refund" }];
  await client.beta.messages
    .toolRunner({ model: "test", max_tokens: 100, messages, tools: [run_program] })
    .runUntilDone();
  expect(refunds.paid).toEqual([1, 2, 3]);
  expect([asked, requests.length]).toEqual([["1", "2", "3"], 2]);
});

test.each<[string, object, number]>([
  ["is asked three times within one call, which its model made with one request", {}, 3],
  ["that grants further calls is asked once", { more: 2 }, 1],
])("an MCP client %s", async (_title, granted, times) => {
  await using refunds = await openRefunds({ policy: "ask-writes" });
  const { client, asked } = clientThat(() => {
    clock.pass(TEN_MINUTES);
    return { action: "accept", content: { allow: true, ...granted } };
  });
  await using _ = await connectBefore2026(refunds.runtime, client);
  expect(await textOf(client, THREE)).toBe(JSON.stringify(PAID));
  expect([asked.length, refunds.paid]).toEqual([times, [1, 2, 3]]);
});
