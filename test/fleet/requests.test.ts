import { expect, test } from "vitest";
import { DriverRequests } from "../../src/fleet/requests.ts";

/** A store whose requests a test sends. */
function store() {
  const listeners = new Set<(execution: string, request: string) => void>();
  return {
    listeners,
    request: async (execution: string, request: string) => {
      for (const listener of listeners) listener(execution, request);
    },
    onRequest: (listener: (execution: string, request: string) => void) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

test("each process hears a request, until it listens no more", async () => {
  const shared = store();
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

test("a request that this version does not know is passed over", async () => {
  const shared = store();
  const heard: string[] = [];
  new DriverRequests(shared).listen((execution) => heard.push(execution));
  await shared.request("e", "delete");
  expect(heard).toEqual([]);
});
