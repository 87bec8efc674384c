import { monotonic } from "../clock.ts";
import type { WorkerNeeds } from "../journal/journal.ts";
import type { FleetStore } from "./fleet-store.ts";
import type { PgBossQueue, QueuedWakes } from "./queue/pg-boss-queue.ts";

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
  readonly #store: FleetStore;
  readonly #queue: PgBossQueue;
  #known: { readonly at: number; readonly figures: Promise<FleetFigures> } | undefined;

  constructor(store: FleetStore, queue: PgBossQueue) {
    this.#store = store;
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
      this.#store.lacking(),
      this.#store.held(),
    ]);
    return { queued, lacking, driven: held.values().reduce((sum, count) => sum + count, 0) };
  }
}
