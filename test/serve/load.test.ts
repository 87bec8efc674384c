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

const PROGRAM = (mark: string) => `
  console.log(${JSON.stringify(mark)});
  for (let turn = 0; turn < 4; turn += 1) {
    await tools.crm.find({});
    console.log("turn " + turn);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return ${JSON.stringify(mark)};`;

type Asked = (path: string, body?: object, last?: string) => Promise<Response>;

/** Follows events to the last one. With `breaks`, each connection is broken after some events, and made anew from the last. */
async function follow(ask: Asked, id: string, breaks = false) {
  const ids: string[] = [];
  let seen = "";
  while (!seen.includes("event: execution_ended")) {
    const response = await ask(`/${id}/events`, undefined, ids.at(-1));
    if (response.status === 204) break;
    expect(response.status).toBe(200);
    let text = "";
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part;
      if (breaks && text.split("\nid: ").length > 3) break;
    }
    const whole = text.slice(0, text.lastIndexOf("\n\n"));
    ids.push(...[...whole.matchAll(/^id: (.+)$/gm)].map(([, eventId = ""]) => eventId));
    seen += whole;
  }
  return { ids, text: seen };
}

const TITLE = `${RUNS} executions at once, with ${BROKEN} broken streams: every event once, and no tenant sees another's`;

test(TITLE, { timeout: 180_000 }, async () => {
  await using door = await openServer({ keys: { keys } });
  const { url } = await door.server.listen({ port: 0 });
  const askWith =
    (key: string): Asked =>
    (path, body, last) =>
      fetch(`${url}/v1/executions${path}`, {
        method: body ? "POST" : "GET",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          ...(last !== undefined && { "last-event-id": last }),
        },
        body: body ? JSON.stringify(body) : null,
      });
  const runs = keys.flatMap(({ key, tenant, id: owner }) =>
    Array.from({ length: RUNS_EACH }, (_, index) => {
      const id = `${owner}-${index}`;
      return { ask: askWith(key), tenant, id, mark: `mark of ${id}!` };
    }),
  );
  const waits = (index: number) => index % 3 === 0;
  const begun = runs.map(async ({ ask, id, mark }, index) => {
    const response = await ask("", { program: PROGRAM(mark), id, wait: waits(index) });
    expect([200, 202]).toContain(response.status);
    await response.text();
  });
  const followed = runs.map(async ({ ask, id }, index) => {
    // A request that waits is answered when the execution has ended; the others, once it has begun.
    if (!waits(index)) await begun[index];
    const isThere = async () => {
      const found = await ask(`/${id}`);
      await found.text();
      return found.status;
    };
    // Fifty requests a second of each would leave the executions no time.
    await expect.poll(isThere, { interval: 500 }).toBe(200);
    return follow(ask, id, index < BROKEN);
  });
  await Promise.all(begun);
  const all = await Promise.all(followed);
  for (const [index, { ask, id, mark }] of runs.entries()) {
    const { ids = [], text = "" } = all[index] ?? {};
    expect(ids).toEqual((await follow(ask, id)).ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(text.match(/event: call_ended/g)).toHaveLength(4);
    expect(runs.flatMap((one) => (text.includes(one.mark) ? [one.mark] : []))).toEqual([mark]);
  }
  for (const { key, tenant } of keys.slice(0, TENANTS)) {
    const { executions } = (await (await askWith(key)("?limit=200")).json()) as { executions: { execution: string }[] };
    const own = runs.filter((run) => run.tenant === tenant).map(({ id }) => id);
    expect(executions.map(({ execution }) => execution).toSorted()).toEqual(own.toSorted());
  }
});
