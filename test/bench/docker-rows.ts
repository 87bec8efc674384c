import { createDockerSandbox, createRuntime, type Runtime, type Tool } from "portcullis";
import { Daemon } from "../../src/sandboxes/docker/daemon.ts";
import { containersOf } from "../docker-support/containers.ts";
import { needDockerEngine } from "../docker-support/docker-engine.ts";
import { medianOf } from "./measure.js";
import { CALLS } from "./workloads.js";

type Row = (what: string, value: number, unit: string, floor: number | undefined, aim: string) => void;
type Run = (runtime: Runtime, name: "start" | "awaited" | "atOnce" | "join") => Promise<void>;

/** What programs cost in containers: none of these rows where there can be no Docker engine. */
export async function dockerRows(tools: readonly Tool[], run: Run, row: Row): Promise<void> {
  if (needDockerEngine() !== undefined) return;
  const cold = createDockerSandbox();
  {
    await using runtime = await createRuntime({ tools, sandbox: cold });
    const count = { count: 15, warmUp: 3 };
    row(
      "in a container: start to end of `return 1 + 1`, none ready",
      await medianOf(() => run(runtime, "start"), count),
      "ms",
      undefined,
      "",
    );
  }
  await cold[Symbol.asyncDispose]();

  const sandbox = createDockerSandbox({ warm: 1 });
  {
    await using runtime = await createRuntime({ tools, sandbox });
    // The container before has been removed and the next one stands: neither is timed.
    const before = async () => {
      while (sandbox.pool.counts.containers !== 1 || sandbox.pool.counts.idle !== 1)
        await new Promise((resolve) => setImmediate(resolve));
    };
    const median = (name: Parameters<Run>[1], count: number) =>
      medianOf(() => run(runtime, name), { count, warmUp: 2, before });
    row("the same, one ready", await median("start", 15), "ms", undefined, "≤ 15 ms");
    row("one of 1,000 awaited calls", ((await median("awaited", 9)) * 1000) / CALLS, "µs", undefined, "≤ 150 µs");
    row("1,000 calls in `Promise.all`", await median("atOnce", 9), "ms", undefined, "");
    row("join of two results of 10 MB", await median("join", 5), "ms", undefined, "≤ 1,000 ms");
    await before();
    row("memory of a container that waits, what watches over it not counted", await waitingMb(), "MB", undefined, "");
  }
  await sandbox[Symbol.asyncDispose]();
}

async function waitingMb(): Promise<number> {
  const [id = ""] = await containersOf();
  const stats = await new Daemon().ask((docker) => docker.getContainer(id).stats({ stream: false }));
  return stats.memory_stats.usage / 1e6;
}
