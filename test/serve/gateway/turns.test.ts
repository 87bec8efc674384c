import { expect, test } from "vitest";
import { Turns } from "../../../src/serve/gateway/turns.ts";

test("requests have one conversation one after the other, in their order, and others beside it", async () => {
  const turns = new Turns();
  const told: string[] = [];
  const first = await turns.take("a");
  const second = turns.take("a").then((end) => {
    told.push("second");
    return end;
  });
  const third = turns.take("a").then((end) => {
    told.push("third");
    return end;
  });
  (await turns.take("b"))();
  expect(told).toEqual([]);
  first();
  (await second)();
  (await third)();
  expect(told).toEqual(["second", "third"]);
  (await turns.take("a"))();
});
