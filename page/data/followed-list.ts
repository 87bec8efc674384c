import type { AskedList, Listed, Row, Source } from "./source.ts";

/** Parts of the list that are asked for again in one round, because executions in them were open. */
const AGAIN = 3;

export interface ListState {
  /** Executions that wait, then the others, the latest first. */
  readonly rows: readonly Row[];
  readonly hasOlder: boolean;
  readonly error?: unknown;
}

/**
 * A list as it goes on. Each round asks for the latest executions, for those that wait, and for older ones that were open;
 * of an execution that has ended nothing is asked again.
 */
export class FollowedList {
  readonly #source: Source;
  readonly #filter: AskedList;
  /** The latest first, without a gap. */
  #rows: readonly Row[] = [];
  #waiting: readonly Row[] = [];
  /** The `before` of what is older than all rows; undefined if nothing is. */
  #older: number | undefined;

  constructor(source: Source, filter: AskedList) {
    this.#source = source;
    this.#filter = filter;
  }

  get state(): ListState {
    return { rows: waitingFirst(this.#waiting, this.#rows), hasOlder: this.#older !== undefined };
  }

  /** Asks for what may be new. Never rejects. */
  refresh(signal: AbortSignal): Promise<ListState> {
    return this.#stateAfter(async () => {
      const [latest, waiting] = await Promise.all([this.#ask({}, signal), this.#askWaiting(signal)]);
      const [newest] = this.#rows;
      const isGap = newest === undefined || (latest.next !== undefined && latest.next > newest.startedAt);
      if (isGap) this.#older = latest.next;
      this.#rows = withListed(isGap ? [] : this.#rows, undefined, latest);
      this.#waiting = waiting;
      let before = latest.next;
      for (let round = 0; round < AGAIN && before !== undefined; round += 1)
        before = await this.#refreshOpen(before, signal);
    });
  }

  /** Adds older executions. Never rejects. */
  addOlder(signal: AbortSignal): Promise<ListState> {
    return this.#stateAfter(async () => {
      const before = this.#older;
      if (before !== undefined) await this.#add(before, signal);
    });
  }

  /** Asks again for the latest open execution before a time, and what follows it. Resolves with the time before which nothing was asked. */
  async #refreshOpen(before: number, signal: AbortSignal): Promise<number | undefined> {
    const open = this.#rows.find(({ state, startedAt }) => startedAt < before && state !== "ended");
    return open && this.#add(open.startedAt + 1, signal);
  }

  /** Asks for executions before a time, of which the latest are known or follow those that are. */
  async #add(before: number, signal: AbortSignal): Promise<number | undefined> {
    const listed = await this.#ask({ before }, signal);
    this.#rows = withListed(this.#rows, before, listed);
    if (this.#older !== undefined)
      this.#older = listed.next === undefined ? undefined : Math.min(this.#older, listed.next);
    return listed.next;
  }

  #ask(asked: AskedList, signal: AbortSignal): Promise<Listed> {
    return this.#source.list({ ...this.#filter, ...asked }, signal);
  }

  async #askWaiting(signal: AbortSignal): Promise<readonly Row[]> {
    if (this.#filter.state !== undefined) return [];
    const { executions } = await this.#ask({ state: "waiting" }, signal);
    return executions.filter(({ state }) => state === "waiting");
  }

  async #stateAfter(work: () => Promise<void>): Promise<ListState> {
    try {
      await work();
      return this.state;
    } catch (error) {
      return { ...this.state, error };
    }
  }
}

/** What is known, with what was answered to a question for the executions before a time: all from `next` on to that time. */
function withListed(rows: readonly Row[], before: number | undefined, { executions, next }: Listed): readonly Row[] {
  const answered = new Set(executions.map(({ execution }) => execution));
  const others = rows.filter(
    ({ execution, startedAt }) =>
      !answered.has(execution) && (startedAt >= (before ?? Infinity) || startedAt < (next ?? -Infinity)),
  );
  return [...others, ...executions].toSorted((one, other) => other.startedAt - one.startedAt);
}

function waitingFirst(waiting: readonly Row[], rows: readonly Row[]): readonly Row[] {
  const isFirst = new Set(waiting.map(({ execution }) => execution));
  const others = rows.filter(({ execution }) => !isFirst.has(execution));
  const first = [...waiting, ...others.filter(({ state }) => state === "waiting")];
  return [
    ...first.toSorted((one, other) => other.startedAt - one.startedAt),
    ...others.filter(({ state }) => state !== "waiting"),
  ];
}
