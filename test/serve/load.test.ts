import { expect, test } from "vitest";
import { ALL_TESTS } from "../support/all-tests.ts";
import { openServer } from "./servers.ts";

const TENANTS = ALL_TESTS ? 5 : 3;
const KEYS_EACH = ALL_TESTS ? 4 : 2;
const RUNS_EACH = ALL_TESTS ? 10 : 3;
const RUNS = TENANTS * KEYS_EACH * RUNS_EACH;
/** Streams whose connection is broken again and again. */
const BROKEN = Math.floor(RUNS / 4);

const keys = Array.from({ length: TENANTS * KEYS_EACH }, (_, index) => ({
  id: `key-${index}`,
  key: `secret-of-key-number-${index}`,
  tenant: `tenant-${index % TENANTS}`,
}));

interface Run {
  readonly key: string;
  readonly tenant: string;
  readonly id: string;
  readonly mark: string;
}

interface Seen {
  readonly ids: string[];
  text: string;
}

const PROGRAM = (mark: string) => `
  console.log(${JSON.stringify(mark)});
  for (let turn = 0; turn < 4; turn += 1) {
    await tools.crm.find({});
    console.log("turn " + turn);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return ${JSON.stringify(mark)};`;

/** Follows events to the last one. With `breaks`, each connection is broken after some events, and made anew from the last. */
async function follow(url: string, { key, id }: Run, breaks: boolean): Promise<Seen> {
  const seen: Seen = { ids: [], text: "" };
  for (;;) {
    const last = seen.ids.at(-1);
    const response = await fetch(`${url}/v1/executions/${id}/events`, {
      headers: { authorization: `Bearer ${key}`, ...(last === undefined ? {} : { "last-event-id": last }) },
    });
    if (response.status === 204) return seen;
    expect(response.status).toBe(200);
    const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>)
      .pipeThrough(new TextDecoderStream())
      .getReader();
    let text = "";
    for (;;) {
      const { done, value = "" } = await reader.read();
      text += value;
      if (done || (breaks && text.split("\nid: ").length > 3)) break;
    }
    await reader.cancel();
    const whole = text.slice(0, text.lastIndexOf("\n\n"));
    seen.ids.push(...[...whole.matchAll(/^id: (.+)$/gm)].map(([, eventId = ""]) => eventId));
    seen.text += whole;
    if (seen.text.includes("event: execution_ended")) return seen;
  }
}

const TITLE = `${RUNS} executions at once, with ${BROKEN} broken streams: every event once, and no tenant sees another's`;

test(TITLE, { timeout: 180_000 }, async () => {
  await using door = await openServer({ keys: { keys } });
  const { url } = await door.server.listen({ port: 0 });
  const runs: Run[] = keys.flatMap(({ key, tenant, id: owner }) =>
    Array.from({ length: RUNS_EACH }, (_, index) => ({
      key,
      tenant,
      id: `${owner}-${index}`,
      mark: `mark of ${owner}-${index}!`,
    })),
  );
  expect(runs).toHaveLength(RUNS);
  const waits = (index: number) => index % 3 === 0;
  const begun = runs.map(async ({ key, id, mark }, index) => {
    const response = await fetch(`${url}/v1/executions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ program: PROGRAM(mark), id, wait: waits(index) }),
    });
    expect([200, 202]).toContain(response.status);
    await response.text();
  });
  const followed = runs.map(async (run, index) => {
    // A request that waits is answered when the execution has ended; the others, once it has begun.
    if (!waits(index)) await begun[index];
    const isThere = async () => {
      const found = await fetch(`${url}/v1/executions/${run.id}`, { headers: { authorization: `Bearer ${run.key}` } });
      await found.text();
      return found.status;
    };
    // Fifty requests a second of each would leave the executions no time.
    await expect.poll(isThere, { interval: 500 }).toBe(200);
    return follow(url, run, index < BROKEN);
  });
  await Promise.all(begun);
  const all = await Promise.all(followed);
  const marks = runs.map(({ mark }) => mark);
  for (const [index, { ids, text }] of all.entries()) {
    const run = runs[index];
    const whole = await follow(url, run as Run, false);
    expect(ids).toEqual(whole.ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(text.match(/event: call_ended/g)).toHaveLength(4);
    expect(marks.filter((mark) => text.includes(mark))).toEqual([run?.mark]);
  }
  for (const { key, tenant } of keys.slice(0, TENANTS)) {
    const response = await fetch(`${url}/v1/executions?limit=200`, { headers: { authorization: `Bearer ${key}` } });
    const { executions } = (await response.json()) as {
      readonly executions: readonly { readonly execution: string }[];
    };
    const own = runs.filter((run) => run.tenant === tenant).map(({ id }) => id);
    expect(executions.map(({ execution }) => execution).toSorted()).toEqual(own.toSorted());
  }
});
