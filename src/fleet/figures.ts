import { monotonic } from "../clock.ts";
import type { WorkerNeeds } from "../journal/journal.ts";
import type { FleetJournal } from "./fleet-journal.ts";
import type { QueuedWakes, WakeQueue } from "./queue/wake-queue.ts";

/** What a fleet does now, for those who scale it. */
export interface FleetFigures {
  readonly queued: readonly QueuedWakes[];
  /** Executions that drivers hold. */
  readonly driven: number;
  /** Executions that wait for a worker with what they need, by what that is. */
  readonly lacking: ReadonlyMap<WorkerNeeds["what"], number>;
}

/** How long figures hold, in milliseconds: several may ask at once. */
const HOLD_MS = 1000;

/** Reads the figures of a fleet, at most once a second. */
export class FigureReader {
  readonly #journal: FleetJournal;
  readonly #queue: WakeQueue;
  #known: { readonly at: number; readonly figures: Promise<FleetFigures> } | undefined;

  constructor(journal: FleetJournal, queue: WakeQueue) {
    this.#journal = journal;
    this.#queue = queue;
  }

  /** Rejects as the journal does. */
  read(): Promise<FleetFigures> {
    if (this.#known && monotonic() - this.#known.at < HOLD_MS) return this.#known.figures;
    const figures = this.#read();
    this.#known = { at: monotonic(), figures };
    return figures;
  }

  async #read(): Promise<FleetFigures> {
    const [queued, lacking, held] = await Promise.all([
      this.#queue.queued(),
      this.#journal.lacking(),
      this.#journal.held(),
    ]);
    return { queued, lacking, driven: held.values().reduce((sum, count) => sum + count, 0) };
  }
}
