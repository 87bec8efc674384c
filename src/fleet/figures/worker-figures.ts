import { cancel, every, type Timer } from "../../clock.ts";
import { isGivenBack } from "../../journal/given-back.ts";
import { randomUUID } from "node:crypto";
import type { ExecutionId } from "../../journal/execution-id.ts";
import type { ExecutionSummary } from "../../journal/journal.ts";
import type { Roster } from "./roster.ts";

/** How often a worker tells of itself, in milliseconds. */
const TELLING_MS = 5000;

/** What a worker has claimed, and tells the roster of its fleet every few seconds. A tell that fails is made up for by the next one. */
export class FiguresOfWorker {
  readonly #id = randomUUID();
  readonly #roster: Roster;
  readonly #now: () => { readonly places: number; readonly driven: number };
  readonly #telling: Timer;
  /** The executions that it takes up, each with whether another driver has left it without giving it back. */
  readonly #looks = new Map<ExecutionId, boolean>();
  #claims = 0;
  #takeovers = 0;
  #underWay: Promise<void> = Promise.resolve();

  constructor(roster: Roster, now: () => { readonly places: number; readonly driven: number }) {
    this.#roster = roster;
    this.#now = now;
    this.#telling = every(TELLING_MS, () => void this.tell()).unref();
  }

  /** The worker is about to take an execution up. */
  noteLook({ execution, lease }: Pick<ExecutionSummary, "execution" | "lease">): void {
    this.#looks.set(execution, lease !== undefined && !isGivenBack(lease));
  }

  /** An execution was claimed, by this worker if it has looked at it. */
  noteClaim(execution: ExecutionId): void {
    const isTakeover = this.#looks.get(execution);
    if (isTakeover === undefined) return;
    this.#looks.set(execution, false);
    this.#claims += 1;
    if (isTakeover) this.#takeovers += 1;
  }

  forget(execution: ExecutionId): void {
    this.#looks.delete(execution);
  }

  tell(): Promise<void> {
    this.#underWay = this.#underWay.then(async () => {
      const [claims, takeovers] = [this.#claims, this.#takeovers];
      try {
        await this.#roster.tell(this.#id, { ...this.#now(), claims, takeovers });
        this.#claims -= claims;
        this.#takeovers -= takeovers;
      } catch {
        // The queue of the same database tells its operator.
      }
    });
    return this.#underWay;
  }

  async end(): Promise<void> {
    cancel(this.#telling);
    await this.tell();
    await this.#roster.leave(this.#id).catch(() => {});
  }
}
