/*
 * A worker: takes wakes of the queue, and drives their executions with a runtime. A wake comes in; the execution is
 * claimed, which ends the wake, and driven until it ends, waits or is another driver's.
 */
import { addAbortListener } from "node:events";
import { after, cancel, Counts, every, type ExecutionId, now, PortcullisError, type Timer } from "../base/index.ts";
import type { OpenReason, Recovered, TakeUpResult } from "../runtime/executions/index.ts";
import { findIfKnown } from "../journal/reading/index.ts";
import type { ExecutionSummary } from "../journal/journal.ts";
import type { JournalRecord } from "../journal/record.ts";
import { type DriverWatch, type FleetJournal, handoverError } from "./fleet-journal.ts";
import { type Lack, lackOf, misfitsOf } from "./misfits.ts";
import { openWrites } from "./open-writes.ts";
import type { FleetRequests, Worker, WorkerHost } from "../runtime/fleet.ts";
import type { PgBossQueue, Taking } from "./queue/pg-boss-queue.ts";
import type { Wake } from "./fleet-store.ts";

/** How long an execution is left alone that could not be driven, in milliseconds; twice as long after each failure. */
const RETRY_MS = 1000;
const MOST_RETRY_MS = 5 * 60_000;

/** How long a program rests that is taken up with its caller, in milliseconds. Its caller ends it, unless its host dies. */
const CALLER_MS = 10 * 60_000;

interface WorkerParts extends WorkerHost {
  readonly journal: FleetJournal;
  readonly queue: PgBossQueue;
  readonly requests: FleetRequests;
}

interface Held {
  readonly done: () => void;
  readonly leave: AbortController;
  isConversation: boolean;
  /** Whether a wake has come for it since it was last looked at. */
  isWoken: boolean;
}

export class FleetWorker implements Worker, DriverWatch {
  readonly #parts: WorkerParts;
  readonly #writes: ReturnType<typeof openWrites>;
  readonly #tenants: ReturnType<typeof tenantShares>;
  readonly #held = new Map<ExecutionId, Held>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #misfits: ReturnType<typeof misfitsOf>;
  #reconciling: Timer | undefined;
  #round: Promise<void> | undefined;
  #taking: Promise<Taking | undefined> = Promise.resolve(undefined);
  /** Ends what tells it of executions. */
  readonly #listeners = new DisposableStack();
  /** Resolves when the executions that may have killed their drivers have ended here. */
  #suspects: Promise<unknown> = Promise.resolve();
  /** Executions that were left since the drain began; undefined before. */
  #leaveCount: number | undefined;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    const { journal, isWrite } = parts;
    this.#writes = openWrites(isWrite);
    this.#misfits = misfitsOf(journal, parts.tools);
    this.#tenants = tenantShares(() => journal.rows.held(), parts.perTenant);
  }

  get driven(): number {
    return this.#held.size;
  }

  /** Rejects as the queue does, and with the reason of `closing`. It then holds nothing. */
  async start(): Promise<void> {
    const { journal, queue, requests, reasonOf, concurrency, reconcileMs, closing, onError } = this.#parts;
    closing.throwIfAborted();
    journal.workers.add(this);
    this.#listeners.defer(() => journal.workers.delete(this));
    this.#listeners.use(
      requests.listen((execution, request) => this.#held.get(execution)?.leave.abort(reasonOf(request))),
    );
    this.#listeners.use(addAbortListener(closing, () => void this.drain(0)));
    this.#reconciling = every(reconcileMs, () => this.#reconcile());
    const taking = queue.work({
      room: () => (this.#leaveCount === undefined ? concurrency - this.#held.size : 0),
      passedOver: () => this.#tenants.passedOver(),
      take: (wake, done) => this.#take(wake, done),
      onError,
    });
    // If the runtime closes meanwhile, its drain waits for this.
    this.#taking = taking.catch(() => undefined);
    try {
      await taking;
      closing.throwIfAborted();
    } catch (error) {
      await this.drain(0);
      throw error;
    }
  }

  // ---- what the journal tells of the drivers of this process -------------------------------------------------------

  isHeld(execution: ExecutionId): boolean {
    return this.#held.has(execution);
  }

  /** While it drains, nothing more is begun that another driver would have to ask for. */
  onWriting(execution: ExecutionId, records: readonly JournalRecord[]): number {
    const begun = this.#leaveCount === undefined ? -1 : records.findIndex(this.#writes.isBegun);
    const may = begun < 0 ? records.length : begun;
    this.#writes.onWriting(execution, records.slice(0, may));
    return may;
  }

  onWritten(execution: ExecutionId, records: readonly JournalRecord[]): void {
    if (records.some(({ type }) => type === "claim")) this.#held.get(execution)?.done();
    this.#writes.onWritten(execution, records);
    if (this.#leaveCount !== undefined) this.#leaveIdle();
  }

  // ---- one wake ----------------------------------------------------------------------------------------------------

  #take(wake: Wake, done: () => void): void {
    const { execution, tenant } = wake;
    const held = this.#held.get(execution);
    if (held) {
      // What has changed meanwhile is looked at when its driver has ended.
      held.isWoken = true;
      return done();
    }
    // Wakes may have been on their way when the drain began, and several of a tenant may come at once.
    if (this.#leaveCount !== undefined || !this.#tenants.take(tenant)) return this.#putBack(wake, done);
    const holds: Held = { done, leave: new AbortController(), isConversation: true, isWoken: false };
    this.#held.set(execution, holds);
    const { onError, queue } = this.#parts;
    const looking = this.#lookAfter(wake, holds)
      .catch(onError)
      .then(() => {
        // From here on this worker, too, may be handed the execution again.
        this.#held.delete(execution);
        this.#writes.forget(execution);
        // In place of a wake for a later time, which it may have been put to rest with.
        return holds.isWoken ? queue.wake([{ execution, tenant }]) : undefined;
      })
      .catch(onError)
      .finally(() => {
        this.#tenants.giveBack(tenant);
        done();
        void this.#taking.then((taking) => taking?.pull());
      });
    this.#track(looking);
  }

  /** For another worker; or for later, if the tenant has as much as it may. */
  #putBack(wake: Wake, done: () => void): void {
    const { queue, onError } = this.#parts;
    const later = this.#leaveCount === undefined ? { ...wake, afterMs: RETRY_MS } : wake;
    this.#track(queue.wake([later]).catch(onError).finally(done));
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
    void this.#parts.untilEnded(tracked);
  }

  /** Drives an execution, and looks at it again, until there is nothing more to do here. */
  async #lookAfter({ execution, tenant, failures = 0 }: Wake, held: Held): Promise<void> {
    const { journal, only } = this.#parts;
    if (this.#misfits.has(execution))
      return this.#parts.queue.wake([{ execution, tenant, failures, afterMs: RETRY_MS }]);
    if (!only({ execution, tenant }))
      return this.#wakeLater({ execution, tenant, failures }, { type: "left", why: undefined });
    for (;;) {
      held.isWoken = false;
      const summary = await findIfKnown(journal, execution).catch((error: Error) => error);
      if (!summary) return;
      if (summary instanceof Error)
        return this.#wakeLater({ execution, tenant, failures }, { type: "failed", error: summary });
      held.isConversation = summary.kind === "conversation";
      const result = await this.#takeUp(summary, held.leave.signal);
      switch (result.type) {
        case "others":
          return;
        case "driven":
          if (hasEnded(result.recovered)) return;
          failures = 0;
          continue;
        case "left":
          if (await this.#rest(summary, result.why)) return;
          continue;
        default:
          return this.#wakeLater({ execution, tenant, failures }, result);
      }
    }
  }

  /** One that may have killed its drivers is driven alone: if this host dies of it, that counts for a single execution. */
  async #takeUp(summary: ExecutionSummary, signal: AbortSignal): Promise<TakeUpResult> {
    const result = await this.#parts.takeUp(summary, false, signal);
    if (result.type !== "suspect") return result;
    const alone = this.#suspects.then(() => this.#parts.takeUp(summary, true, signal));
    this.#suspects = alone;
    return alone;
  }

  /** Resolves with false if the execution has changed meanwhile. */
  async #rest({ execution, tenant, records }: ExecutionSummary, why: OpenReason | undefined): Promise<boolean> {
    const { journal, queue } = this.#parts;
    switch (why?.to) {
      case "outside":
        // What a program waited for may have come since it was read, and the wake for that may be lost.
        if (!(await journal.rows.rest(execution, why.records, why.until, why.programs))) return false;
        if (why.until !== Number.POSITIVE_INFINITY)
          await queue.wake([{ execution, tenant, afterMs: Math.max(1, why.until - now()) }]);
        return true;
      case "caller":
        await this.#wakeCaller({ execution: why.caller, tenant });
        // Not before: if this process dies meanwhile, the program is still due.
        await journal.rows.rest(execution, records, now() + CALLER_MS);
        return true;
      case "model":
        this.#parts.onError(withoutModel(execution, why.model));
        await this.#passOn({ execution, tenant }, { what: "model", names: [why.model] });
        return true;
      default:
        // The driver of one of its programs has not given back its lease.
        await queue.wake([{ execution, tenant, afterMs: RETRY_MS }]);
        return true;
    }
  }

  /**
   * Wakes the caller of a program, which may rest: what has changed stands in the journal of the program. It is due until it
   * was looked at, also if this wake is lost.
   */
  async #wakeCaller(wake: Wake): Promise<void> {
    const { journal, queue } = this.#parts;
    const caller = await findIfKnown(journal, wake.execution);
    if (caller) await journal.rows.rest(wake.execution, caller.records, now());
    await queue.wake([wake]);
  }

  /** What this worker leaves goes on at once with another one, and what failed later. */
  async #wakeLater({ failures = 0, ...wake }: Wake, result: TakeUpResult): Promise<void> {
    const { queue, onError } = this.#parts;
    const error = result.type === "failed" ? result.error : undefined;
    if (isLeaving(error)) {
      if (this.#leaveCount !== undefined) this.#leaveCount += 1;
      return queue.wake([wake]);
    }
    if (error) onError(error);
    const what = lackOf(error);
    if (what) return this.#passOn({ failures, ...wake }, { what });
    const afterMs = Math.min(MOST_RETRY_MS, RETRY_MS * 2 ** Math.min(failures, 20));
    return queue.wake([{ ...wake, afterMs, failures: failures + 1 }]);
  }

  /** Another worker may be able to: the execution waits for one, and this worker does not read it again soon. */
  async #passOn(wake: Wake, needs: Lack): Promise<void> {
    await this.#misfits.add(wake, needs);
    return this.#parts.queue.wake([{ ...wake, afterMs: RETRY_MS }]);
  }

  #reconcile(): void {
    const { journal, queue, leaseMs, onError } = this.#parts;
    this.#round ??= journal.rows
      .lost(leaseMs)
      .then((wakes) => queue.wake(wakes))
      .catch(onError)
      .finally(() => {
        this.#round = undefined;
      });
  }

  // ---- the end -----------------------------------------------------------------------------------------------------

  async drain(afterMs: number): Promise<number> {
    if (this.#leaveCount === undefined) {
      this.#leaveCount = 0;
      cancel(this.#reconciling);
      this.#leaveIdle();
    }
    const late = after(afterMs, () => {
      for (const { leave } of this.#held.values()) leave.abort(handoverError());
    });
    try {
      await (await this.#taking)?.[Symbol.asyncDispose]();
      // Once it takes no more, nothing more comes under way.
      await Promise.all(this.#underWay);
    } finally {
      cancel(late);
    }
    await this.#round;
    this.#listeners.dispose();
    return this.#leaveCount;
  }

  /** Leaves the executions without calls under way whose effect another driver would have to ask for. */
  #leaveIdle(): void {
    // Whose programs these are, the journal does not tell: any conversation here may be theirs.
    const areConversationsIdle = [...this.#writes.executions()].every((execution) => this.#held.has(execution));
    for (const [execution, { leave, isConversation }] of this.#held)
      if (!this.#writes.has(execution) && (!isConversation || areConversationsIdle)) leave.abort(handoverError());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0);
  }
}

function hasEnded(recovered: Recovered): boolean {
  return !("transcript" in recovered) && recovered.ending.type !== "waiting";
}

function withoutModel(execution: ExecutionId, model: string): PortcullisError {
  return new PortcullisError(
    "model_unavailable",
    `Conversation ${JSON.stringify(execution)} waits for a worker with its model ${model}: fleet.work(runtime, { model }), or portcullis worker --model ${model}.`,
  );
}

function isLeaving(error: Error | undefined): boolean {
  return PortcullisError.is(error) && (error.code === "runtime_suspended" || error.code === "runtime_closed");
}

/**
 * How many executions of one tenant the workers of a fleet drive at once: what drivers hold by the journal, and what this
 * worker has taken and not claimed yet. Workers that look at the same moment may exceed it for a moment, by one each.
 */
function tenantShares(held: () => Promise<ReadonlyMap<string, number>>, perTenant = Number.POSITIVE_INFINITY) {
  const here = new Counts();
  let shares: ReadonlyMap<string, number> = new Map();
  /** Taken since the journal was asked. */
  let newShares = new Counts();
  const hasRoom = (tenant: string): boolean =>
    Math.max((shares.get(tenant) ?? 0) + newShares.of(tenant), here.of(tenant)) < perTenant;
  return {
    async passedOver(): Promise<readonly string[]> {
      if (perTenant === Number.POSITIVE_INFINITY) return [];
      shares = await held();
      newShares = new Counts();
      return [...shares.keys()].filter((tenant) => !hasRoom(tenant));
    },

    /** Takes a share of the tenant. Returns false if it has as much as it may. */
    take(tenant: string): boolean {
      if (!hasRoom(tenant)) return false;
      newShares.add(tenant, 1);
      here.add(tenant, 1);
      return true;
    },

    giveBack: (tenant: string): void => here.add(tenant, -1),
  };
}
