import { cancel, every, type ExecutionId, now, type Timer } from "../../base/index.ts";
import type { AgentEvent } from "../../conversations/event.ts";
import type { Report } from "../../executions/output/index.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import type { Expiry } from "../gateway/expiry.ts";
import type { ServedModels } from "../served-models.ts";
import type { ServerRuns } from "../server-runs.ts";
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

interface Sweeping {
  /** Failed recoveries that the operator was told of: each sweep fails with them again. */
  readonly reports: Set<string>;
  /** When executions could not be taken up, in milliseconds since 1970. */
  readonly failedAt: Map<ExecutionId, number>;
  isStopped: boolean;
}

/** A server without a fleet drives all that its clients begin and decide, and what other hosts have left. */
export function localDriving(parts: DrivingParts) {
  const { runs, runtime, expiry, onError } = parts;
  const sweeping: Sweeping = { reports: new Set(), failedAt: new Map(), isStopped: false };
  const { failedAt } = sweeping;
  let recovering: Promise<number> | undefined;
  let timer: Timer | undefined;
  const recover = (only: (execution: ExecutionId) => boolean) => {
    recovering = takeUp(parts, sweeping, only).finally(() => {
      recovering = undefined;
    });
    return recovering;
  };
  return {
    async start() {
      void this.recover().catch(onError);
      timer = every(SWEEP_MS, () => void this.sweep().catch(onError)).unref();
    },
    stop() {
      cancel(timer);
      expiry.stop();
      sweeping.isStopped = true;
    },
    drain: (drainMs) => runtime.suspend(drainMs),
    ask: async () => false,
    run: (program, onBegun) => runHere(parts, program, onBegun),
    driveOn(id, tenant, over) {
      const driven = runs.run(id, (signal) => goOn(parts, id, tenant, signal));
      driven.catch((error: unknown) => isOthers(error) || onError(error)).finally(over);
    },
    /**
     * Takes up executions whose drivers are gone, as `recover` does. An execution that could not be taken up rests before
     * the next attempt: each attempt reads it, and may append a claim to its journal. While a recovery is under way, only what
     * clients have left is looked for.
     */
    async sweep(): Promise<void> {
      if (recovering) return void (await expiry.sweep());
      const before = now() - RETRY_MS;
      for (const [execution, at] of failedAt) if (at <= before) failedAt.delete(execution);
      await recover((execution) => !failedAt.has(execution));
    },
    /** A recovery that is under way is joined: a second one would find executions that the first has not reached yet. */
    recover: () => recovering ?? recover(() => true),
  } satisfies Driving & { readonly sweep: () => Promise<void> };
}

function runHere(
  { runs, onEvent }: DrivingParts,
  { runtime, program, execution, settings }: ClientProgram,
  onBegun: () => void,
): Promise<Report> {
  const onOwn = (event: AgentEvent) => {
    onEvent(event);
    if (event.type === "execution_started" && event.execution === execution) onBegun();
  };
  const options = { ...settings, id: execution, checkPrograms: runtime.checkPrograms, onEvent: onOwn };
  return runs.run(execution, (signal) => runtime.execute(program, { ...options, signal }));
}

async function takeUp(
  { runs, runtime, served, expiry, onEvent, onError }: DrivingParts,
  sweeping: Sweeping,
  only: (execution: ExecutionId) => boolean,
): Promise<number> {
  const under = new Map<ExecutionId, () => void>();
  let count = 0;
  try {
    for await (const one of runtime.recover({
      model: (conversation) => served.find(conversation),
      onEvent,
      signal: ({ execution }) => {
        const run = runs.begin(execution);
        under.set(execution, run.end);
        return run.signal;
      },
      only: (one) => {
        expiry.see(one);
        return only(one.execution);
      },
    })) {
      under.get(one.execution)?.();
      under.delete(one.execution);
      if ("error" in one) fail(sweeping, one.execution, one.error, onError);
      else count += 1;
      if (sweeping.isStopped) return count;
    }
    count += await expiry.settle();
  } finally {
    for (const end of under.values()) end();
  }
  return count;
}

function fail(
  { reports, failedAt }: Sweeping,
  execution: ExecutionId,
  error: Error,
  onError: DrivingParts["onError"],
): void {
  failedAt.set(execution, now());
  if (isOthers(error)) return;
  const about = `${execution} ${error.message}`;
  if (reports.has(about)) return;
  if (reports.size >= MOST_TOLD) reports.clear();
  reports.add(about);
  onError(error);
}

/** Leaves a conversation as it is whose model the server does not have. */
async function goOn(
  { runtime, served, onEvent }: DrivingParts,
  id: ExecutionId,
  tenant: string,
  signal: AbortSignal,
): Promise<void> {
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
