import { expect, test } from "vitest";
import { followView } from "../../page/data/follow-view.ts";
import { FollowedList, type ListState } from "../../page/data/followed-list.ts";
import { type AskedList, Refused, type Row, type Source } from "../../page/data/source.ts";

const PAGE = 3;

/** A server with executions, the number of which is when they began, and a list that follows it. */
function openList(filter: AskedList = {}) {
  const all = new Map<number, Row>();
  const asked: string[] = [];
  const put = (startedAt: number, state: Row["state"] = "ended") =>
    all.set(startedAt, { execution: `e${startedAt}`, kind: "program", state, startedAt, title: "", waitsFor: [] });
  const source: Pick<Source, "list"> = {
    list: async ({ before, state }) => {
      asked.push(state ?? `before ${before ?? "now"}`);
      const rows = [...all.values()]
        .filter((row) => row.startedAt < (before ?? Infinity) && (state === undefined || row.state === state))
        .toSorted((one, other) => other.startedAt - one.startedAt);
      const executions = rows.slice(0, PAGE);
      const last = executions.at(-1);
      return { executions, ...(rows.length > PAGE && last ? { next: last.startedAt } : {}) };
    },
  };
  let state: ListState | undefined;
  const list = new FollowedList(source as Source, filter);
  const after = async (work: Promise<ListState>) => {
    state = await work;
    return state.rows.map(({ execution }) => execution).join(" ");
  };
  return {
    put,
    asked,
    refresh: () => after(list.refresh(new AbortController().signal)),
    older: () => after(list.addOlder(new AbortController().signal)),
    hasOlder: () => state?.hasOlder,
    states: () => state?.rows.map(({ state: one }) => one).join(" "),
  };
}

test("a list has what waits first, however old it is, then the latest, and each once", async () => {
  const one = openList();
  for (let at = 1; at <= 6; at += 1) one.put(at, at === 1 || at === 5 ? "waiting" : "ended");
  expect(await one.refresh()).toBe("e5 e1 e6 e4");
  expect(await one.older()).toBe("e5 e1 e6 e4 e3 e2");
  expect(one.hasOlder()).toBe(false);
});

test("older parts are not asked for again if all in them has ended, and what was open in them is", async () => {
  const one = openList();
  for (let at = 1; at <= 9; at += 1) one.put(at, at === 5 ? "running" : "ended");
  await one.refresh();
  await one.older();
  expect(await one.older()).toBe("e9 e8 e7 e6 e5 e4 e3 e2 e1");
  one.asked.length = 0;
  one.put(10);
  one.put(5);
  expect(await one.refresh()).toBe("e10 e9 e8 e7 e6 e5 e4 e3 e2 e1");
  expect(one.states()).toBe(Array.from({ length: 10 }, () => "ended").join(" "));
  expect(one.asked).toEqual(["before now", "waiting", "before 6"]);
  one.asked.length = 0;
  await one.refresh();
  expect(one.asked).toEqual(["before now", "waiting"]);
});

test("if more has begun than one part holds, the list has no gap", async () => {
  const one = openList();
  for (let at = 1; at <= 3; at += 1) one.put(at);
  expect(await one.refresh()).toBe("e3 e2 e1");
  for (let at = 4; at <= 9; at += 1) one.put(at);
  expect(await one.refresh()).toBe("e9 e8 e7");
  expect(await one.older()).toBe("e9 e8 e7 e6 e5 e4");
});

test("a view is followed over a stream that breaks off to its end, and a request that is refused is not made again", async () => {
  const answers = [
    ': hello\n\nevent: view\ndata: {"state":"running","calls":[1]}\n\n: still here\n\n',
    'event: view\ndata: {"calls":[1,2]}\n\nevent: patch\ndata: {"set":{"n":1},"unset":[],"lists":{"calls":{"length":3,"items":[{"index":2,"item":3}]}}}\n\n',
  ];
  const seen: unknown[] = [];
  const refused = new Refused(404, "no such execution");
  await followView(
    async () => (answers.length > 0 ? new Response(answers.shift()) : Promise.reject(refused)),
    ({ value, error }) => seen.push(error ?? value),
    new AbortController().signal,
  );
  expect(seen).toEqual([{ state: "running", calls: [1] }, { calls: [1, 2] }, { calls: [1, 2, 3], n: 1 }, refused]);
});
