import { createFleet } from "portcullis/fleet";
import { createMemoryJournal } from "portcullis/journal";
import { MemoryQueue } from "../../fleet/memory-queue.ts";
import { goesOnAnywhere } from "./many-servers.ts";

goesOnAnywhere("a journal and a queue in memory", async () => {
  const journal = createMemoryJournal();
  const queue = new MemoryQueue();
  return { join: () => createFleet({ journal, queue }), [Symbol.asyncDispose]: async () => {} };
});
