import { randomUUID } from "node:crypto";
import { after, cancel, monotonic } from "../../clock.ts";
import type { WorkerNeeds } from "../../journal/journal.ts";
import type { FleetJournal } from "../fleet-journal.ts";
import type { QueueDatabase } from "../queue/queue-database.ts";
import type { Roster, RosterFigures } from "./roster.ts";
import type { QueuedWakes, WakeQueue } from "../queue/wake-queue.ts";

/** What a fleet does now, for those who scale it. */
export interface FleetFigures extends RosterFigures {
  readonly queued: readonly QueuedWakes[];
  /** Executions that wait for a worker with what they need, by what that is. */
  readonly lacking: ReadonlyMap<WorkerNeeds["what"], number>;
  /** Time from a notice to this process to its arrival, in milliseconds; undefined if it did not come, or without a database. */
  readonly noticeMs: number | undefined;
}

export interface FigureParts {
  readonly journal: FleetJournal;
  readonly queue: WakeQueue;
  readonly roster: Roster;
  readonly database: QueueDatabase | undefined;
}

/** How long figures hold, in milliseconds: several may ask at once. */
const HOLD_MS = 1000;
/** How long a notice is waited for, in milliseconds. */
const NOTICE_MS = 2000;
const CHANNEL = "portcullis_figures";

/** Reads the figures of a fleet, at most once a second. */
export class FigureReader {
  readonly #parts: FigureParts;
  #known: { readonly at: number; readonly figures: Promise<FleetFigures> } | undefined;

  constructor(parts: FigureParts) {
    this.#parts = parts;
  }

  /** Rejects as the journal does. */
  read(): Promise<FleetFigures> {
    if (this.#known && monotonic() - this.#known.at < HOLD_MS) return this.#known.figures;
    const figures = this.#read();
    this.#known = { at: monotonic(), figures };
    return figures;
  }

  async #read(): Promise<FleetFigures> {
    const { journal, queue, roster, database } = this.#parts;
    const [queued, lacking, ofWorkers, noticeMs] = await Promise.all([
      queue.queued(),
      journal.lacking(),
      roster.read(),
      database && noticeLag(database),
    ]);
    return { ...ofWorkers, queued, lacking, noticeMs };
  }
}

/** Sends a notice to this process. What is measured has the time of the statement in it. */
async function noticeLag(database: QueueDatabase): Promise<number | undefined> {
  const token = randomUUID();
  const arrived = Promise.withResolvers<number | undefined>();
  const listening = Promise.withResolvers<void>();
  using _ = database.onNotify(CHANNEL, (payload) => {
    if (payload === undefined) listening.resolve();
    else if (payload === token) arrived.resolve(monotonic());
  });
  const late = after(NOTICE_MS, () => {
    listening.resolve();
    arrived.resolve(undefined);
  });
  await listening.promise;
  const sent = monotonic();
  await database.query("SELECT pg_notify($1, $2)", [CHANNEL, token]);
  const at = await arrived.promise;
  cancel(late);
  return at === undefined ? undefined : Math.max(0, at - sent);
}
