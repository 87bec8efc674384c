import { expect, test } from "vitest";
import { DriverRequests } from "../../src/fleet/requests.ts";

/** A database whose notices a test sends. */
function database() {
  const listeners = new Set<(payload: string | undefined) => void>();
  const notify = (payload: string | undefined) => {
    for (const listener of listeners) listener(payload);
  };
  return {
    notify,
    listeners,
    query: async (_: string, values: readonly unknown[] = []) => {
      notify(String(values[1]));
      return { rows: [] };
    },
    onNotify: (_: string, listener: (payload: string | undefined) => void) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

test("each process hears a request, until it listens no more", async () => {
  const shared = database();
  const [one, other] = [new DriverRequests(shared), new DriverRequests(shared)];
  const heard: string[] = [];
  const listening = other.listen((execution, request) => heard.push(`${request} ${execution}`));
  await one.send("a\nb", "cancel");
  await one.send("c", "interrupt");
  expect(heard).toEqual(["cancel a\nb", "interrupt c"]);
  listening[Symbol.dispose]();
  expect(shared.listeners.size).toBe(0);
  await one.send("d", "cancel");
  expect(heard).toHaveLength(2);
});

test("a notice that is no request is passed over: any client of the database can send one", () => {
  const shared = database();
  const heard: string[] = [];
  new DriverRequests(shared).listen((execution) => heard.push(execution));
  for (const payload of [undefined, "", "{", "null", '"cancel"', '["delete","e"]', '["cancel",1]', '{"0":"cancel"}'])
    shared.notify(payload);
  expect(heard).toEqual([]);
});
