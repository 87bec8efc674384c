import { cancel, every, withoutUndefined, monotonic, pause, type Timer, hasCode } from "../../base/index.ts";
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
export function fleetDriving(fleet: Fleet, parts: FleetDrivingParts): Driving {
  const { runs, runtime, served, expiry, watch, concurrency, onEvent, onError } = parts;
  let worker: Awaited<ReturnType<Fleet["work"]>> | undefined;
  let hearing: Disposable | undefined;
  let expiring: Timer | undefined;
  const look = async () => {
    if (await fleet.limits.mayStart("gateway", { calls: 1, perMs: EXPIRY_MS / 2 })) await expiry.sweep();
  };
  return {
    async start() {
      hearing = fleet.requests.listen((execution, request) => {
        if (runs.has(execution)) void runs.end(execution, REASONS[request]()).catch(onError);
      });
      const expire = () => void look().catch(onError);
      expire();
      expiring = every(EXPIRY_MS, expire).unref();
      if (concurrency === 0) return;
      const model: Parameters<Fleet["work"]>[1] = { model: (conversation) => served.find(conversation) };
      worker = await fleet.work(runtime, { ...model, concurrency, onEvent, onError });
    },
    stop() {
      cancel(expiring);
      expiry.stop();
      hearing?.[Symbol.dispose]();
    },
    async drain(drainMs) {
      const begun = monotonic();
      const remaining = (await worker?.drain(drainMs)) ?? 0;
      // One after the other: what the worker has left is not counted twice.
      return remaining + (await runtime.suspend(Math.max(0, drainMs - (monotonic() - begun))));
    },
    /** Workers take up what was left, whenever it is, but for what clients of the gateway have left. */
    recover: () => expiry.sweep(),
    run: (program, onBegun) => submitted(fleet, program, onBegun),
    driveOn: (_id, _tenant, over) => over(),
    async ask(id, request) {
      const { records } = await runtime.journal.find(id);
      using watching = watch.watch(id);
      await fleet.requests.send(id, request);
      await watching.wait(new Map([[id, records]]), ASKED_MS);
      // Its end follows its last records at once.
      await pause(10);
      return true;
    },
  };
}

async function submitted(
  fleet: Fleet,
  { runtime, program, execution, settings }: ClientProgram,
  onBegun: () => void,
): Promise<Report> {
  try {
    await fleet.submit(runtime, program, { ...withoutUndefined(settings), id: execution });
  } catch (error) {
    // Its client is given a report, as of any program that cannot be run.
    if (hasCode(error, "program_too_large")) return runtime.execute(program, { ...settings, id: execution });
    throw error;
  }
  onBegun();
  const { report } = await runtime.execution(execution).wait();
  if (!report) throw new Error("A program that has ended or waits has a report.");
  return report;
}
