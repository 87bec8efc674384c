import { createHash } from "node:crypto";
import type { Model } from "../models/model.ts";
import { PortcullisError } from "../errors.ts";
import type { AgentEvent } from "../agent/event.ts";
import type { RecoveredConversation } from "../executions/recover-options.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { isDriven } from "../programs/driven-here.ts";
import type { Runtime } from "../runtime.ts";
import { inSlices } from "../values/in-slices.ts";
import { Lane } from "../values/slice-scheduler.ts";

/** Number of reported failures that are remembered. */
const MOST_TOLD = 1000;

interface Run {
  readonly cancel: AbortController;
  readonly ended: Promise<unknown>;
}

export interface ServerRunsParts {
  /** The server's own: all tools, for any tenant. */
  readonly runtime: Runtime;
  readonly models: (conversation: RecoveredConversation) => Model | undefined;
  readonly onEvent: (event: AgentEvent) => void;
  /** Told of what failed on the host's side. */
  readonly onError: (error: unknown) => void;
}

/** Runs an execution until the signal cancels it. */
type Work<Value> = (signal: AbortSignal) => Promise<Value>;

/** The executions that the server drives: begun by clients, continued after decisions, and taken up at its start. */
export class ServerRuns {
  readonly #parts: ServerRunsParts;
  readonly #runs = new Map<ExecutionId, Set<Run>>();
  /** Failed recoveries that the operator was told of: each sweep fails with them again. */
  readonly #told = new Set<string>();
  /** Digest of the open executions after the last sweep. */
  #left: string | undefined;
  #isStopped = false;

  constructor(parts: ServerRunsParts) {
    this.#parts = parts;
  }

  has(id: ExecutionId): boolean {
    return this.#runs.has(id);
  }

  /** Runs an execution until it ends or waits. */
  async run<Value>(id: ExecutionId, work: Work<Value>): Promise<Value> {
    const cancel = new AbortController();
    const ended = work(cancel.signal);
    const run: Run = { cancel, ended };
    const runs = this.#runs.get(id) ?? new Set();
    this.#runs.set(id, runs.add(run));
    try {
      return await ended;
    } finally {
      runs.delete(run);
      if (runs.size === 0) this.#runs.delete(id);
    }
  }

  /** Cancels an execution that runs here, and resolves when it has ended. */
  async cancel(id: ExecutionId): Promise<void> {
    const runs = [...(this.#runs.get(id) ?? [])];
    for (const { cancel } of runs) cancel.abort(new Error("A client has cancelled it."));
    await Promise.allSettled(runs.map(({ ended }) => ended));
  }

  /** Resolves when what runs here of an execution has ended. */
  async settled(id: ExecutionId): Promise<void> {
    await Promise.allSettled([...(this.#runs.get(id) ?? [])].map(({ ended }) => ended));
  }

  /** Takes up nothing more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Continues an execution after a decision or a result was noted. Returns nothing: the journal has the outcome. */
  driveOn(id: ExecutionId, tenant: string, over: () => void): void {
    this.run(id, (signal) => this.#driveOn(id, tenant, signal))
      .catch((error: unknown) => {
        if (!isOthers(error)) this.#parts.onError(error);
      })
      .finally(over);
  }

  async #driveOn(id: ExecutionId, tenant: string, signal: AbortSignal): Promise<void> {
    const resume = await this.#resumption(id, tenant);
    if (!resume) return;
    // The first attempt may join a driver that ended before it read the note.
    if (await resume(signal)) await resume(signal);
  }

  /**
   * The function that continues it, and resolves with whether it waits again; undefined for a conversation whose model
   * the server does not have.
   */
  async #resumption(id: ExecutionId, tenant: string): Promise<((signal: AbortSignal) => Promise<boolean>) | undefined> {
    const { runtime, models, onEvent } = this.#parts;
    const { listed, conversation } = await runtime.status(id, { tenant });
    if (listed.kind === "program")
      return async (signal) => (await runtime.resume(id, { tenant, signal, onEvent })).outcome.type === "waiting";
    const model = conversation && models({ execution: id, tenant, ...conversation });
    if (!model) return undefined;
    return async (signal) =>
      (await runtime.resumeAgent(id, { model, tenant, signal, onEvent })).ending.type === "waiting";
  }

  /** Takes up executions whose drivers are gone, if any of them has changed since the last sweep. */
  async sweep(): Promise<void> {
    if ((await this.#openNow()) === this.#left) return;
    await this.recover();
    this.#left = await this.#openNow();
  }

  /** A digest of the open executions without a driver, by which two sweeps are compared. */
  async #openNow(): Promise<string> {
    const { journal } = this.#parts.runtime;
    const all = createHash("sha256");
    for await (const summary of inSlices(journal.list({ open: true }), new Lane("")))
      if (!isDriven(journal, summary)) all.update(`${summary.execution} ${summary.records}\n`);
    return all.digest("hex");
  }

  #tellOnce(execution: ExecutionId, error: Error): void {
    if (isOthers(error)) return;
    const about = `${execution} ${error.message}`;
    if (this.#told.has(about)) return;
    if (this.#told.size >= MOST_TOLD) this.#told.clear();
    this.#told.add(about);
    this.#parts.onError(error);
  }

  /** Takes up executions whose drivers are gone. Resolves with their number. */
  async recover(): Promise<number> {
    const { runtime, models, onEvent } = this.#parts;
    const under = new Map<ExecutionId, () => void>();
    let taken = 0;
    const signal = ({ execution }: { readonly execution: ExecutionId }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      under.set(execution, resolve);
      let cancelling: AbortSignal | undefined;
      const work = (own: AbortSignal) => {
        cancelling = own;
        return promise;
      };
      void this.run(execution, work);
      return cancelling;
    };
    try {
      for await (const one of runtime.recover({ model: models, onEvent, signal })) {
        under.get(one.execution)?.();
        under.delete(one.execution);
        if ("error" in one) this.#tellOnce(one.execution, one.error);
        else taken += 1;
        if (this.#isStopped) break;
      }
    } finally {
      for (const end of under.values()) end();
    }
    return taken;
  }
}

/** Codes of errors that mean that another driver has the execution, or that it is gone. */
const OTHERS: ReadonlySet<string> = new Set([
  "execution_driven",
  "head_moved",
  "execution_unknown",
  "runtime_suspended",
  "runtime_closed",
]);

function isOthers(error: unknown): boolean {
  return PortcullisError.is(error) && OTHERS.has(error.code);
}
