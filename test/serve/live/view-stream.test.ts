import { scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import { followView } from "../../../page/data/follow-view.ts";
import type { ExecutionView } from "../../../src/serve/views/view.ts";
import { keyOf, openServer, type OpenServer } from "../servers.ts";

/** Follows the view of an execution as the page does. */
function follow(door: OpenServer, id: string, key = keyOf("ann")) {
  const left = new AbortController();
  const views: ExecutionView[] = [];
  const lengths: number[] = [];
  const headers = { authorization: `Bearer ${key}` };
  const url = `http://localhost/v1/executions/${id}/view/events`;
  const over = followView(
    () => door.server.fetch(new Request(url, { headers })),
    ({ value }, length) => {
      if (value) views.push(value);
      lengths.push(length - lengths.reduce((sum, one) => sum + one, 0));
    },
    left.signal,
  );
  return {
    views,
    lengths,
    over,
    leave: () => left.abort(),
    until: async (wanted: (view: ExecutionView) => boolean) => {
      await expect.poll(() => views.some(wanted)).toBe(true);
      return views.find(wanted) as ExecutionView;
    },
  };
}

test("a client is given the view once, then its changes to the end, which make the view that is asked for at once", async () => {
  await using door = await openServer();
  const program = `// ${"x".repeat(5000)}
console.log('before'); await tools.crm.find({}); await tools.crm.slow({}); console.log('after'); return 1`;
  await door.run({ program, id: "live", wait: false });
  const following = follow(door, "live");
  await following.until(({ calls }) => calls.some(({ tool, state }) => tool === "crm.slow" && state === "open"));
  door.slow.release();
  await following.over;
  const view = following.views.at(-1);
  expect(view).toMatchObject({ state: "ended", outcome: { type: "completed" } });
  expect(view).toEqual((await door.ask("GET", "/v1/executions/live/view")).json);
  const [first = 0, ...changes] = following.lengths;
  expect(first).toBeGreaterThan(5000);
  expect(changes.length).toBeGreaterThan(0);
  expect(Math.max(...changes)).toBeLessThan(5000);
  const again = follow(door, "live");
  await again.over;
  expect(again.views).toEqual([view]);
});

test("what is decided elsewhere, and what a program of a conversation then waits for, is a change too", async () => {
  await using door = await openServer({ token: keyOf("tok") });
  const key = keyOf("tok");
  await door.runtime.execute("return tools.bank.pay({ amount: 1 })", { id: "pays" });
  const pays = follow(door, "pays", key);
  expect((await pays.until(({ waiting }) => waiting.length > 0)).state).toBe("waiting");
  await door.runtime.execution("pays").decide({ 1: { allow: true } });
  const decided = await pays.until(({ waiting }) => waiting.length === 0);
  expect(decided.calls).toMatchObject([{ decision: { decision: "allowed" } }]);
  pays.leave();

  const model = scriptedModel([{ programs: ["await tools.crm.slow({}); return tools.bank.pay({ amount: 1 })"] }]);
  const talking = door.runtime.agent({ model, task: "Pay.", id: "talk", programs: "local" });
  await door.slow.begun();
  const talk = follow(door, "talk", key);
  await talk.until(({ waiting }) => waiting.length === 0);
  door.slow.release();
  expect((await talk.until(({ waiting }) => waiting.length > 0)).waiting).toMatchObject([{ tool: "bank.pay" }]);
  talk.leave();
  await talking;
});
