import type { Daemon } from "./daemon.ts";

/** What an idle guest takes of its container's memory; node's and python's are about the same. */
const IDLE_BYTES = 12 * 1024 * 1024;

interface Stats {
  readonly memory_stats: {
    readonly usage?: number;
    /** Of files, which are given back where memory is short: the old and the new control groups' names. */
    readonly stats?: { readonly total_inactive_file?: number; readonly inactive_file?: number };
  };
}

/** Memory that a container takes now beyond an idle guest's, in bytes; 0 where the engine does not say. */
export async function readMemory(daemon: Daemon, id: string): Promise<number> {
  const { memory_stats: memory } = (await daemon.dial({
    path: `/containers/${id}/stats?`,
    method: "GET",
    options: { stream: false, "one-shot": true },
    statusCodes: { 200: true, 404: "no such container", 500: "server error" },
  })) as Stats;
  const files = memory.stats?.total_inactive_file ?? memory.stats?.inactive_file ?? 0;
  return Math.max(0, (memory.usage ?? 0) - files - IDLE_BYTES);
}
