import type { PoolClient } from "pg";
import { monotonic, now } from "../../../clock.ts";
import { isGivenBack } from "../../given-back.ts";
import type { Lease } from "../../journal.ts";
import type { Database, Row } from "./database.ts";

/** How long a measurement holds, in milliseconds: clocks are set, and drift. */
const HOLDS_MS = 60_000;
/** Clocks that differ by less are taken for equal, in milliseconds, as are those that differ by less than half of what the query took. */
const SAME_MS = 1000;

/**
 * What the database's clock is ahead of this machine's. Leases and rests are kept by the database's clock: a machine whose
 * clock is wrong would take living executions over, or keep dead ones.
 */
export class DatabaseClock {
  readonly #database: Database;
  #measured: { readonly at: number; readonly aheadMs: Promise<number> } | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  aheadMs(): Promise<number> {
    const now = monotonic();
    if (!this.#measured || now - this.#measured.at > HOLDS_MS)
      this.#measured = {
        at: now,
        aheadMs: this.#measure().catch((error: unknown) => {
          this.#measured = undefined;
          throw error;
        }),
      };
    return this.#measured.aheadMs;
  }

  /** This moment by the database's clock, in milliseconds since 1970. */
  async now(): Promise<number> {
    return now() + (await this.aheadMs());
  }

  /** A lease by the database's clock. A lease that was given back, with a time near 1970, stays as it is. */
  async kept(lease: Lease): Promise<Lease> {
    return moved(lease, await this.aheadMs());
  }

  /** A lease of the database by this machine's clock. */
  async own(lease: Lease): Promise<Lease> {
    return moved(lease, -(await this.aheadMs()));
  }

  /** Measured within one attempt, on its connection: a wait for the database is no part of it. */
  #measure(): Promise<number> {
    const text = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now";
    const measure = async (client: PoolClient) => {
      const [before, begun] = [now(), monotonic()];
      const { rows } = await client.query<Row>({ text });
      const uncertainMs = (monotonic() - begun) / 2;
      return differenceOf(Number(rows[0]?.["now"]) - before - uncertainMs, uncertainMs);
    };
    return this.#database.run(measure, { idempotent: true });
  }
}

function moved(lease: Lease, ms: number): Lease {
  return ms === 0 || isGivenBack(lease) ? lease : { ...lease, until: lease.until + ms };
}

/** What a clock is ahead, in milliseconds; 0 if the measurement may explain it. */
function differenceOf(aheadMs: number, uncertainMs: number): number {
  return Math.abs(aheadMs) <= Math.max(SAME_MS, uncertainMs) ? 0 : Math.round(aheadMs);
}

/** Undefined if the clocks are taken for equal. */
export function differenceText(aheadMs: number, uncertainMs: number): string | undefined {
  const ms = differenceOf(aheadMs, uncertainMs);
  if (ms === 0) return undefined;
  return `is ${(Math.abs(ms) / 1000).toFixed(1)} s ${ms > 0 ? "ahead of" : "behind"}`;
}
