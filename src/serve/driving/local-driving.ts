import { cancel, every, type ExecutionId, now, type Timer } from "../../base/index.ts";
import type { AgentEvent } from "../../conversations/event.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import type { Expiry } from "../gateway/expiry.ts";
import type { ServedModels } from "../served-models.ts";
import type { ServerRuns } from "../server-runs.ts";
import type { Report } from "../../executions/output/index.ts";
import { type ClientProgram, type Driving, isOthers } from "./driving.ts";

/** Number of reported failures that are remembered. */
const MOST_TOLD = 1000;

/** How long sweeps leave an execution alone that could not be taken up, in milliseconds. */
const RETRY_MS = 5 * 60_000;

/** Interval of looking for executions that others have left or decided, in milliseconds. */
const SWEEP_MS = 10_000;

export interface DrivingParts {
  readonly runs: ServerRuns;
  /** The server's own runtime: all tools, for any tenant. */
  readonly runtime: Runtime;
  readonly served: ServedModels;
  readonly expiry: Pick<Expiry, "see" | "settle" | "sweep" | "stop">;
  readonly onEvent: (event: AgentEvent) => void;
  /** Told of what failed on the host's side. */
  readonly onError: (error: unknown) => void;
}

/** A server without a fleet drives all that its clients begin and decide, and what other hosts have left. */
export class LocalDriving implements Driving {
  readonly #parts: DrivingParts;
  /** Failed recoveries that the operator was told of: each sweep fails with them again. */
  readonly #told = new Set<string>();
  /** When executions could not be taken up, in milliseconds since 1970. */
  readonly #failedAt = new Map<ExecutionId, number>();
  #recovering: Promise<number> | undefined;
  #sweeping: Timer | undefined;
  #isStopped = false;

  constructor(parts: DrivingParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { onError } = this.#parts;
    void this.recover().catch(onError);
    this.#sweeping = every(SWEEP_MS, () => void this.sweep().catch(onError)).unref();
  }

  stop(): void {
    cancel(this.#sweeping);
    this.#parts.expiry.stop();
    this.#isStopped = true;
  }

  async drain(drainMs: number): Promise<number> {
    return this.#parts.runtime.suspend(drainMs);
  }

  async ask(): Promise<boolean> {
    return false;
  }

  run({ runtime, program, execution, settings }: ClientProgram, onBegun: () => void): Promise<Report> {
    const { runs, onEvent: tell } = this.#parts;
    const onEvent = (event: AgentEvent) => {
      tell(event);
      if (event.type === "execution_started" && event.execution === execution) onBegun();
    };
    const { checkPrograms } = runtime;
    const options = { ...settings, id: execution, checkPrograms, onEvent };
    return runs.run(execution, (signal) => runtime.execute(program, { ...options, signal }));
  }

  driveOn(id: ExecutionId, tenant: string, over: () => void): void {
    this.#parts.runs
      .run(id, (signal) => this.#driveOn(id, tenant, signal))
      .catch((error: unknown) => {
        if (!isOthers(error)) this.#parts.onError(error);
      })
      .finally(over);
  }

  /** Leaves a conversation as it is whose model the server does not have. */
  async #driveOn(id: ExecutionId, tenant: string, signal: AbortSignal): Promise<void> {
    const { runtime, served, onEvent } = this.#parts;
    const handle = runtime.execution(id, { tenant });
    const { listed, conversation } = await handle.status();
    const model = conversation && served.find({ execution: id, tenant, ...conversation });
    const options = { signal, onEvent };
    const waitsAgain = async () =>
      listed.kind === "program"
        ? (await handle.resume(options)).outcome.type === "waiting"
        : !!model && (await handle.resume({ ...options, model })).ending.type === "waiting";
    // The first attempt may join a driver that ended before it read the note.
    if (await waitsAgain()) await waitsAgain();
  }

  /**
   * Takes up executions whose drivers are gone, as `recover` does. An execution that could not be taken up rests before
   * the next attempt: each attempt reads it, and may append a claim to its journal. While a recovery is under way, only what
   * clients have left is looked for.
   */
  async sweep(): Promise<void> {
    if (this.#recovering) {
      await this.#parts.expiry.sweep();
      return;
    }
    const before = now() - RETRY_MS;
    for (const [execution, at] of this.#failedAt) if (at <= before) this.#failedAt.delete(execution);
    await this.#recover((execution) => !this.#failedAt.has(execution));
  }

  #fail(execution: ExecutionId, error: Error): void {
    this.#failedAt.set(execution, now());
    if (isOthers(error)) return;
    const about = `${execution} ${error.message}`;
    if (this.#told.has(about)) return;
    if (this.#told.size >= MOST_TOLD) this.#told.clear();
    this.#told.add(about);
    this.#parts.onError(error);
  }

  /**
   * Takes up all executions whose drivers are gone, and ends what clients have left. Resolves with their number. A recovery that is under way is joined: a
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
    const { runtime, runs, served, expiry, onEvent } = this.#parts;
    const under = new Map<ExecutionId, () => void>();
    let taken = 0;
    const signal = ({ execution }: { readonly execution: ExecutionId }) => {
      const run = runs.begin(execution);
      under.set(execution, run.end);
      return run.signal;
    };
    try {
      for await (const one of runtime.recover({
        model: (conversation) => served.find(conversation),
        onEvent,
        signal,
        only: (one) => {
          expiry.see(one);
          return only(one.execution);
        },
      })) {
        under.get(one.execution)?.();
        under.delete(one.execution);
        if ("error" in one) this.#fail(one.execution, one.error);
        else taken += 1;
        if (this.#isStopped) return taken;
      }
      taken += await expiry.settle();
    } finally {
      for (const end of under.values()) end();
    }
    return taken;
  }
}
