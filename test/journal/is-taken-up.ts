import { recover } from "../../src/runtime/executions/recover.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";

/** Whether a recovery takes up what is in the journal. */
export async function isTakenUp(journal: Journal): Promise<boolean> {
  const recovering = recover({
    journal,
    signal: new AbortController().signal,
    concurrency: 1,
    model: () => scriptedModel([]),
    only: () => true,
    result: () => undefined,
    run: () => Promise.reject(new Error("It is taken up.")),
  });
  return (await Array.fromAsync(recovering)).length > 0;
}
