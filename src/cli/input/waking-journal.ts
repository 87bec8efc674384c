import { queueSchema } from "../../fleet/queue/queue-schema.ts";
import { thrownText } from "../../output/thrown-text.ts";
import type { Journal } from "../../journal/journal.ts";
import { writeStderr } from "../terminal/standard-streams.ts";
import type { OpenJournal } from "./open-journal.ts";

/** A journal by which what is noted wakes the workers of the fleet, if there is one. */
export interface WakingJournal extends AsyncDisposable {
  readonly journal: Journal;
  /** Whether there are workers to be woken. */
  readonly isFleets: boolean;
}

/** Tables of the queue of a fleet: a journal that no fleet has used has none, and gets none here. */
const HAS_QUEUE = "SELECT to_regclass($1) IS NOT NULL AS has_queue";

/** What is noted counts without a wake too, and workers find it later: a queue that cannot be opened hinders no decision. */
export async function wakingJournal(store: OpenJournal): Promise<WakingJournal> {
  const alone = { journal: store, isFleets: false, [Symbol.asyncDispose]: async () => {} };
  if (!("query" in store)) return alone;
  const { rows } = await store.query(HAS_QUEUE, [`${queueSchema(store.schema)}.job`]);
  if (rows[0]?.["has_queue"] !== true) return alone;
  const { createFleet } = await import("../../fleet/index.ts");
  const fleet = createFleet({ journal: store, onError: tell });
  try {
    await fleet.open();
  } catch (error) {
    tell(error);
    await fleet[Symbol.asyncDispose]();
    return alone;
  }
  return { journal: fleet.journal, isFleets: true, [Symbol.asyncDispose]: () => fleet[Symbol.asyncDispose]() };
}

function tell(error: unknown): void {
  writeStderr(`No worker of the fleet is woken, and one goes on when it looks by itself: ${thrownText(error)}\n`);
}
