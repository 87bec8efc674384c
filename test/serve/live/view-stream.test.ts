import { scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import type { ExecutionView, ViewPatch } from "../../../src/serve/views/view.ts";
import { patched } from "../../../src/serve/views/patched-view.ts";
import { keyOf, openServer, type OpenServer } from "../servers.ts";

/** Follows the view of an execution as the page does. */
async function follow(door: OpenServer, id: string, key = keyOf("ann")) {
  const headers = { authorization: `Bearer ${key}` };
  const url = `http://localhost/v1/executions/${id}/view/events`;
  const response = await door.server.fetch(new Request(url, { headers }));
  if (!response.body || response.status !== 200) throw new Error(`no stream: ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events: { readonly type: string; readonly data: unknown; readonly length: number }[] = [];
  let rest = "";
  let view: ExecutionView | undefined;
  const next = async (): Promise<boolean> => {
    const { done, value = "" } = await reader.read();
    const texts = (rest + value).split("\n\n");
    rest = texts.pop() ?? "";
    for (const text of texts) {
      const [, type, line] = /^event: (.*)\ndata: (.*)$/.exec(text) ?? [];
      if (type === undefined || line === undefined) continue;
      const data: unknown = JSON.parse(line);
      events.push({ type, data, length: line.length });
      if (type === "view") view = data as ExecutionView;
      if (type === "patch" && view) view = patched(view, data as ViewPatch);
    }
    return !done;
  };
  return {
    events,
    reader,
    until: async (wanted: (view: ExecutionView) => boolean) => {
      for (;;) {
        if (view && wanted(view)) return view;
        if (!(await next())) throw new Error(JSON.stringify(view));
      }
    },
    toEnd: async () => {
      while (await next());
      return view;
    },
  };
}

test("a client is given the view once, then its changes to the end, which make the view that is asked for at once", async () => {
  await using door = await openServer();
  const program = `// ${"x".repeat(5000)}
console.log('before'); await tools.crm.find({}); await tools.crm.slow({}); console.log('after'); return 1`;
  await door.ask("POST", "/v1/executions", { body: { program, id: "live", wait: false } });
  const following = await follow(door, "live");
  await door.slow.begun();
  await following.until(({ calls }) => calls.some(({ tool, state }) => tool === "crm.slow" && state === "open"));
  door.slow.release();
  const view = await following.toEnd();
  expect(view).toMatchObject({ state: "ended", outcome: { type: "completed" } });
  expect(view).toEqual((await door.ask("GET", "/v1/executions/live/view")).json);
  const [first, ...changes] = following.events;
  expect(first?.type).toBe("view");
  expect(changes.length).toBeGreaterThan(0);
  for (const { type, length } of changes) {
    expect(type).toBe("patch");
    expect(length).toBeLessThan(5000);
  }
});

test("an execution that has ended is one view, and the stream is over", async () => {
  await using door = await openServer();
  await door.ask("POST", "/v1/executions", { body: { program: "return 1", id: "over" } });
  const following = await follow(door, "over");
  await following.toEnd();
  expect(following.events.map(({ type }) => type)).toEqual(["view"]);
});

test("what is decided elsewhere, and what a program of a conversation then waits for, is a change too", async () => {
  await using door = await openServer({ token: keyOf("tok") });
  const key = keyOf("tok");
  await door.runtime.execute("return tools.bank.pay({ amount: 1 })", { id: "pays" });
  const pays = await follow(door, "pays", key);
  expect((await pays.until(({ waiting }) => waiting.length > 0)).state).toBe("waiting");
  await door.runtime.execution("pays").decide({ 1: { allow: true } });
  const decided = await pays.until(({ waiting }) => waiting.length === 0);
  expect(decided.calls).toMatchObject([{ decision: { decision: "allowed" } }]);
  await pays.reader.cancel();

  const model = scriptedModel([{ programs: ["await tools.crm.slow({}); return tools.bank.pay({ amount: 1 })"] }]);
  const talking = door.runtime.agent({ model, task: "Pay.", id: "talk", programs: "local" });
  await door.slow.begun();
  const talk = await follow(door, "talk", key);
  await talk.until(({ waiting }) => waiting.length === 0);
  door.slow.release();
  expect((await talk.until(({ waiting }) => waiting.length > 0)).waiting).toMatchObject([{ tool: "bank.pay" }]);
  await talk.reader.cancel();
  await talking;
});
