import { expect, test } from "vitest";
import { createMemorySandbox } from "../../src/sandboxes/memory.ts";
import { iterate, openGuest } from "../support/guests.ts";
import { sandboxContract } from "./contract.ts";

sandboxContract(createMemorySandbox, { ends: "what yields" });

test("a stand-in for the guest script can send any frame", async () => {
  const sandbox = createMemorySandbox({
    guest: () => ({ deliver: () => {}, drain: () => '{"kind":"nonsense"}\u001enot even JSON' }),
  });
  await using guest = await openGuest(sandbox);
  expect((await iterate(guest).next()).value).toEqual(['{"kind":"nonsense"}', "not even JSON"]);
});

test("a stand-in that throws counts as a dead guest", async () => {
  const sandbox = createMemorySandbox({
    guest: () => ({
      deliver: () => {},
      drain: () => {
        throw new Error("out of order");
      },
    }),
  });
  await using guest = await openGuest(sandbox);
  expect(await guest.exit).toEqual({ type: "died", detail: "out of order" });
});
