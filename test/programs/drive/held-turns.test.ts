import { expect, test } from "vitest";
import type { GuestTurn } from "../../../bridge/turn-reader.ts";
import { HeldTurns } from "../../../src/programs/drive/held-turns.ts";
import { itemsEvent } from "../../../src/programs/guest/guest-event.ts";
import { HeldBytes } from "../../../src/values/held-bytes.ts";

const BATCHES = 1000;
const batch = { body: "[1]", count: 1, bytes: 3, values: 1, heldBytes: 1 };
const event = itemsEvent(0, 1, batch, false);
const text = '{"kind":"next","id":1}';
const turn: GuestTurn = { commands: [{ kind: "next", id: 1 }], texts: [text], sizes: [text.length], settled: false };

test.each([
  ["in memory", false, BATCHES * (256 + 256 + text.length)],
  ["in a file", true, 0],
])(
  "with a journal %s a program that has read a stream of many batches holds the records that it keeps, and no items",
  (...about) => {
    const [, isDurable, held] = about;
    const share = new HeldBytes().share("", 48 * 1024 * 1024);
    const turns = new HeldTurns(share, isDurable);
    for (let read = 0; read < BATCHES; read += 1) {
      share.hold(batch.heldBytes);
      const taking = turns.take([[event, turn]]);
      while (!taking.next().done);
      turns.noteStored([[event, turn]], { noteRead: () => 0 });
    }
    expect(share.held).toBe(held);
  },
);
