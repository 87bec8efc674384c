import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { EventQueue } from "../../../src/programs/drive/event-queue.ts";
import { fireEvent, type GuestEvent } from "../../../src/programs/guest/guest-event.ts";

function openQueue() {
  const sent: (readonly GuestEvent[])[] = [];
  const queue = new EventQueue((events) => sent.push(events));
  queue.open();
  return { queue, sent, ids: () => sent.map((events) => events.map(({ head }) => "id" in head && head.id)) };
}

test("the first event of an idle guest is sent before those that follow in later microtasks, which go together", async () => {
  const { queue, ids } = openQueue();
  queue.push(fireEvent(1, 1));
  await Promise.resolve();
  for (const id of [2, 3, 4]) {
    queue.push(fireEvent(1, id));
    await Promise.resolve();
  }
  await setImmediate();
  expect(ids()).toEqual([[1], [2, 3, 4]]);
});

test("many events leave in batches while later ones still come in", async () => {
  const { queue, sent, ids } = openQueue();
  queue.push(fireEvent(1, 0));
  await Promise.resolve();
  for (let id = 1; id <= 100; id += 1) queue.push(fireEvent(1, id));
  expect(sent.length).toBeGreaterThan(2);
  await setImmediate();
  expect(ids().flat()).toEqual(Array.from({ length: 101 }, (_, id) => id));
});

test("events whose turns have ended are not sent to the next guest, and all others are, in order", async () => {
  const { queue, sent, ids } = openQueue();
  for (let id = 0; id < 3000; id += 1) queue.push(fireEvent(1, id));
  await setImmediate();
  for (let id = 0; id < 2500; id += 1) expect(queue.shift()).toEqual(fireEvent(1, id));
  queue.close();
  queue.push(fireEvent(2, 3000));
  sent.length = 0;
  queue.open();
  expect(ids().flat()).toEqual(Array.from({ length: 501 }, (_, index) => 2500 + index));
  for (let left = 501; left > 0; left -= 1) queue.shift();
  expect(queue.isEmpty).toBe(true);
  expect(() => queue.shift()).toThrow("no event is queued");
});
