/* A fleet as the runtime knows it: what the runtime's methods need of it, and their options. */
import { REASONS } from "../conversations/drive/interruption.ts";
import {
  abortSignal,
  type ExecutionId,
  listener,
  type OptionsOf,
  pick,
  type Rate,
  type SharedLimits,
  wholeNumber,
} from "../base/index.ts";
import { type ContextArguments, EXECUTE_RULES } from "../executions/execute-options.ts";
import type { ExecutionSummary, Journal, WorkerNeeds } from "../journal/journal.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { TakeUpResult } from "./executions/recover.ts";
import { RECOVER_RULES, type RecoveredExecution, type RecoverOptions } from "./executions/recover-options.ts";

/** Processes that share a journal and a queue. Made by `createFleet`. */
export interface Fleet extends AsyncDisposable {
  /** The journal of the fleet: what is written to it wakes workers. */
  readonly journal: Journal;
  /** @internal Where its processes count together what tools' `concurrency` and `rate` bound. */
  readonly limits: FleetLimits;
  /** @internal */
  readonly requests: FleetRequests;
  /**
   * Hands a program to the workers, and resolves with the id of its execution once the journal has it: from then on it is
   * not lost. The runtime, one of this fleet, says with which tools and limits. The same program again under the same id is
   * the same execution. A program that cannot be run has ended then, as `failed`. Rejects with `execution_exists`, and as
   * the journal does.
   */
  submit<Context>(runtime: FleetRuntime<Context>, program: string, options?: SubmitOptions): Promise<ExecutionId>;
  /**
   * Makes a runtime of this fleet a worker: it takes up executions that were submitted, decided or left by other drivers,
   * with its tools, until the worker is disposed of; `suspend` of the runtime then leaves to other workers what it still
   * drives. Rejects with `queue_unavailable`.
   */
  work<Context>(
    runtime: FleetRuntime<Context>,
    ...argument: ContextArguments<WorkOptions<Context>, Context>
  ): Promise<Worker>;
  /** @internal Opens the queue. Rejects with `queue_unavailable`, and as the journal does. */
  open(): Promise<void>;
  /** @internal What all its processes do now, for the metrics; read once a second at most. Rejects as the journal does. */
  figures(): Promise<FleetFigures>;
  /** @internal */
  startWorker(host: WorkerHost): Promise<Worker>;
}

/** A runtime of a fleet: `createRuntime({ fleet })`. */
export interface FleetRuntime<Context = unknown> {
  readonly fleet: Fleet | undefined;
  /** For `Fleet.submit` and `Fleet.work`. */
  fleetMember(): Promise<FleetMember<Context>>;
}

/** What a fleet does with a runtime. */
export interface FleetMember<Context = unknown> {
  readonly submit: (program: unknown, options: SubmitOptions) => Promise<ExecutionId>;
  readonly work: (options: WorkOptions<Context>) => Promise<Worker>;
}

export interface FleetLimits extends SharedLimits {
  /** Whether one more may start now, which then counts. */
  mayStart(key: string, rate: Rate): Promise<boolean>;
}

/** What a process asks the driver of an execution for, which may be in another process. */
export type DriverRequest = keyof typeof REASONS;

export const REQUESTS = Object.keys(REASONS) as readonly DriverRequest[];

export type RequestListener = (execution: ExecutionId, request: DriverRequest) => void;

/** A request may be lost: its sender looks in the journal whether it was met. */
export interface FleetRequests {
  /** Asks the driver of an execution, if there is one. */
  send(execution: ExecutionId, request: DriverRequest): Promise<void>;
  listen(listener: RequestListener): Disposable;
}

/** What a fleet does now, for those who scale it. */
export interface FleetFigures {
  readonly queued: readonly QueuedWakes[];
  /** Executions that drivers hold. */
  readonly driven: number;
  /** Executions that wait for a worker with what they need, by what that is. */
  readonly lacking: ReadonlyMap<WorkerNeeds["what"], number>;
}

/** Number of wakes that wait, and since when the oldest of them could have been taken, by tenant. */
export interface QueuedWakes {
  readonly tenant: string;
  readonly wakes: number;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** The runtime that a worker works with. */
export interface WorkerHost {
  /** The reason with which an execution is ended on request. */
  readonly reasonOf: (request: DriverRequest) => Error;
  /** Executions that are driven at once. */
  readonly concurrency: number;
  /** Executions of one tenant that the fleet drives at once; undefined for any number. */
  readonly perTenant: number | undefined;
  /** How often it is looked for executions that no wake names, and after what time a wake that was taken names none. */
  readonly reconcileMs: number;
  readonly leaseMs: number;
  /** Whether this worker takes the execution up. */
  readonly only: (execution: RecoveredExecution) => boolean;
  /** The tools that it has now. */
  readonly tools: () => ToolSet;
  /** Whether a call of the tool changes something. */
  readonly isWrite: (tool: string) => boolean;
  /** Takes an execution up and drives it, until the signal is aborted. Never rejects. */
  readonly takeUp: (summary: ExecutionSummary, takesSuspects: boolean, signal: AbortSignal) => Promise<TakeUpResult>;
  /** Lets the closing of the runtime wait for work. */
  readonly untilEnded: (work: Promise<void>) => Promise<void>;
  /** Aborted when the runtime closes. */
  readonly closing: AbortSignal;
  /** Told of what failed on the host's side. */
  readonly onError: (error: unknown) => void;
}

/** Takes up executions of a fleet, until it is disposed of: it then leaves what it drives to other workers at once. */
export interface Worker extends AsyncDisposable {
  /** Number of executions that it drives now. */
  readonly driven: number;
  /**
   * Takes up no more, and leaves what it drives to other workers at once; an execution with calls under way that change
   * something once their results are in the journal, or after `afterMs`. Resolves with the number of executions that it
   * has left.
   */
  readonly drain: (afterMs: number) => Promise<number>;
}

/** A worker has the tools, the context and the listeners: what is submitted is the program alone. */
export const SUBMIT_RULES = {
  ...pick(EXECUTE_RULES, "id", "corrects", "maxAgeMs", "language", "result", "limits", "tools", "tenant"),
  ...pick(EXECUTE_RULES, "approvePrograms"),
  /** Gives up before the program is stored. */
  signal: abortSignal(),
};

export type SubmitOptions = OptionsOf<typeof SUBMIT_RULES>;

export const WORK_RULES = {
  ...RECOVER_RULES,
  /**
   * Executions of one tenant that all workers of the fleet drive at once, by the leases in the journal; any number by
   * default. Those of other tenants come first meanwhile. Give all workers the same number.
   */
  perTenant: wholeNumber({ min: 1 }),
  /**
   * How often the worker looks for executions that have neither a driver nor a wake, in milliseconds; 1,000 by default.
   * Each worker of a fleet does so.
   */
  reconcileMs: wholeNumber({ min: 100, max: 3_600_000, default: 1000 }),
  /** Told of executions that could not be driven, and of failures of the queue. They are tried again. */
  onError: listener<(error: unknown) => void>(),
};

export type WorkOptions<Context = unknown> = RecoverOptions<Context> &
  Pick<OptionsOf<typeof WORK_RULES>, "perTenant" | "reconcileMs" | "onError">;
