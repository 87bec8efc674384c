import { PortcullisError } from "../errors.ts";
import type { AgentEvent } from "../agent/event.ts";
import { interrupted } from "../agent/drive/interruption.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Runtime } from "../runtime.ts";
import { isOfGateway } from "./gateway/seals.ts";
import type { ServedModels } from "./served-models.ts";

/** Number of reported failures that are remembered. */
const MOST_TOLD = 1000;

/** How long sweeps leave an execution alone that could not be taken up, in milliseconds. */
const RETRY_MS = 5 * 60_000;

interface Run {
  readonly cancel: AbortController;
  readonly ended: Promise<unknown>;
}

export interface ServerRunsParts {
  /** The server's own runtime: all tools, for any tenant. */
  readonly runtime: Runtime;
  readonly served: ServedModels;
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
  /** Resolve once the last message of each conversation is in the journal. */
  readonly #saying = new Map<ExecutionId, Promise<void>>();
  /** Failed recoveries that the operator was told of: each sweep fails with them again. */
  readonly #told = new Set<string>();
  /** When executions could not be taken up, in milliseconds since 1970. */
  readonly #failedAt = new Map<ExecutionId, number>();
  #recovering: Promise<number> | undefined;
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

  /**
   * Says something in a conversation once what was to be said before it was said, or has failed: otherwise two requests
   * would take the conversation from each other. `work` calls its second argument once the journal has the message.
   */
  async say<Value>(id: ExecutionId, work: (signal: AbortSignal, onSaid: () => void) => Promise<Value>): Promise<Value> {
    const before = this.#saying.get(id);
    const { promise: said, resolve: onSaid } = Promise.withResolvers<void>();
    this.#saying.set(id, said);
    try {
      return await this.run(id, async (signal) => {
        await before;
        return work(signal, onSaid);
      });
    } finally {
      onSaid();
      if (this.#saying.get(id) === said) this.#saying.delete(id);
    }
  }

  /** Cancels an execution that runs here, and resolves when it has ended. */
  async cancel(id: ExecutionId): Promise<void> {
    await this.#abort(id, cancelled());
  }

  /** Interrupts a conversation that is at work here, and resolves when the journal says that it rests. */
  async interrupt(id: ExecutionId): Promise<void> {
    await this.#abort(id, interrupted());
  }

  async #abort(id: ExecutionId, reason: Error): Promise<void> {
    for (const { cancel } of this.#runs.get(id) ?? []) cancel.abort(reason);
    await this.settled(id);
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

  /** Leaves a conversation as it is whose model the server does not have. */
  async #driveOn(id: ExecutionId, tenant: string, signal: AbortSignal): Promise<void> {
    const { runtime, served, onEvent } = this.#parts;
    const { listed, conversation } = await runtime.status(id, { tenant });
    const model = conversation && served.find({ execution: id, tenant, ...conversation });
    const options = { tenant, signal, onEvent };
    const waitsAgain = async () =>
      listed.kind === "program"
        ? (await runtime.resume(id, options)).outcome.type === "waiting"
        : !!model && (await runtime.resumeAgent(id, { ...options, model })).ending.type === "waiting";
    // The first attempt may join a driver that ended before it read the note.
    if (await waitsAgain()) await waitsAgain();
  }

  /**
   * Takes up executions whose drivers are gone, as `recover` does. An execution that could not be taken up rests before
   * the next attempt: each attempt reads it, and may append a claim to its journal. Does nothing while a recovery is
   * under way.
   */
  async sweep(): Promise<void> {
    if (this.#recovering) return;
    const before = Date.now() - RETRY_MS;
    for (const [execution, at] of this.#failedAt) if (at <= before) this.#failedAt.delete(execution);
    await this.#recover((execution) => !this.#failedAt.has(execution));
  }

  #fail(execution: ExecutionId, error: Error): void {
    this.#failedAt.set(execution, Date.now());
    if (isOthers(error)) return;
    const about = `${execution} ${error.message}`;
    if (this.#told.has(about)) return;
    if (this.#told.size >= MOST_TOLD) this.#told.clear();
    this.#told.add(about);
    this.#parts.onError(error);
  }

  /**
   * Takes up all executions whose drivers are gone. Resolves with their number. A recovery that is under way is joined: a
   * second one would find executions that the first has not reached yet.
   */
  recover(): Promise<number> {
    return this.#recovering ?? this.#recover(() => true);
  }

  #recover(only: (execution: ExecutionId) => boolean): Promise<number> {
    this.#recovering = this.#takeUp(only).finally(() => {
      this.#recovering = undefined;
    });
    return this.#recovering;
  }

  async #takeUp(only: (execution: ExecutionId) => boolean): Promise<number> {
    const { runtime, served, onEvent } = this.#parts;
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
      for await (const one of runtime.recover({
        model: (conversation) => served.find(conversation),
        onEvent,
        signal,
        // Its client goes on with what the gateway has begun: only it has the tools.
        only: ({ execution }) => !isOfGateway(execution) && only(execution),
      })) {
        under.get(one.execution)?.();
        under.delete(one.execution);
        if ("error" in one) this.#fail(one.execution, one.error);
        else taken += 1;
        if (this.#isStopped) break;
      }
    } finally {
      for (const end of under.values()) end();
    }
    return taken;
  }
}

/** The reason with which a client's request cancels an execution. */
export function cancelled(): Error {
  return new Error("A client has cancelled it.");
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
