import {
  cancel,
  every,
  type ExecutionId,
  withoutUndefined,
  monotonic,
  pause,
  PortcullisError,
  type Timer,
} from "../../base/index.ts";
import { REASONS } from "../../conversations/index.ts";
import type { Report } from "../../executions/output/index.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import type { JournalWatch } from "../live/journal-watch.ts";
import type { ClientProgram, Driving } from "./driving.ts";
import type { DrivingParts } from "./local-driving.ts";

/** How long a request to a driver in another process is waited for before the journal is looked at again, in milliseconds. */
const ASKED_MS = 1000;

/** Interval of looking for what clients of the gateway have left, by one server of the fleet, in milliseconds. */
const EXPIRY_MS = 30_000;

export interface FleetDrivingParts extends DrivingParts {
  readonly watch: JournalWatch;
  /** Programs that this process drives at once; 0 leaves all to other workers. */
  readonly concurrency: number;
}

type Fleet = NonNullable<Runtime["fleet"]>;

/**
 * A server of a fleet submits what its clients begin, and the journal of the fleet wakes workers for what they decide. Which
 * server a client asks makes no difference.
 */
export class FleetDriving implements Driving {
  readonly #parts: FleetDrivingParts;
  readonly #fleet: Fleet;
  #worker: Awaited<ReturnType<Fleet["work"]>> | undefined;
  #hearing: Disposable | undefined;
  #expiring: Timer | undefined;

  constructor(fleet: Fleet, parts: FleetDrivingParts) {
    this.#fleet = fleet;
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { runs, runtime, served, concurrency, onEvent, onError } = this.#parts;
    this.#hearing = this.#fleet.requests.listen((execution, request) => {
      if (!runs.has(execution)) return;
      void runs.end(execution, REASONS[request]()).catch(onError);
    });
    const expire = () => void this.#expire().catch(onError);
    expire();
    this.#expiring = every(EXPIRY_MS, expire).unref();
    if (concurrency === 0) return;
    const model: Parameters<Fleet["work"]>[1] = { model: (conversation) => served.find(conversation) };
    this.#worker = await this.#fleet.work(runtime, { ...model, concurrency, onEvent, onError });
  }

  async #expire(): Promise<void> {
    if (await this.#fleet.limits.mayStart("gateway", { calls: 1, perMs: EXPIRY_MS / 2 }))
      await this.#parts.expiry.sweep();
  }

  stop(): void {
    cancel(this.#expiring);
    this.#parts.expiry.stop();
    this.#hearing?.[Symbol.dispose]();
  }

  async drain(drainMs: number): Promise<number> {
    const begun = monotonic();
    const left = (await this.#worker?.drain(drainMs)) ?? 0;
    // One after the other: what the worker has left is not counted twice.
    return left + (await this.#parts.runtime.suspend(Math.max(0, drainMs - (monotonic() - begun))));
  }

  /** Workers take up what was left, whenever it is, but for what clients of the gateway have left. */
  recover(): Promise<number> {
    return this.#parts.expiry.sweep();
  }

  async run({ runtime, program, execution, settings }: ClientProgram, onBegun: () => void): Promise<Report> {
    try {
      await this.#fleet.submit(runtime, program, { ...withoutUndefined(settings), id: execution });
    } catch (error) {
      // Its client is given a report, as of any program that cannot be run.
      if (PortcullisError.is(error) && error.code === "program_too_large")
        return runtime.execute(program, { ...settings, id: execution });
      throw error;
    }
    onBegun();
    const { report } = await runtime.execution(execution).wait();
    if (!report) throw new Error("A program that has ended or waits has a report.");
    return report;
  }

  driveOn(_id: ExecutionId, _tenant: string, over: () => void): void {
    over();
  }

  async ask(id: ExecutionId, request: keyof typeof REASONS): Promise<boolean> {
    const { watch, runtime } = this.#parts;
    const { records } = await runtime.journal.find(id);
    using watching = watch.watch(id);
    await this.#fleet.requests.send(id, request);
    await watching.wait(new Map([[id, records]]), ASKED_MS);
    // Its end follows its last records at once.
    await pause(10);
    return true;
  }
}
