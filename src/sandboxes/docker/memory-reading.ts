import { type Daemon, isObject } from "./daemon.ts";

/** What an idle guest takes of its container's memory; node's and python's are about the same. */
const IDLE_BYTES = 12 * 1024 * 1024;

/** Memory that a container takes now beyond an idle guest's, in bytes; 0 where the daemon does not say. */
export async function readMemory(daemon: Daemon, id: string): Promise<number> {
  const said = await daemon.dial({
    path: `/containers/${id}/stats?`,
    method: "GET",
    options: { stream: false, "one-shot": true },
    statusCodes: { 200: true, 404: "no such container", 500: "server error" },
  });
  const memory = within(said, "memory_stats");
  const stats = within(memory, "stats");
  // Of files, which are given back where memory is short: the old and the new control groups' names.
  const files = numberIn(stats, "total_inactive_file") ?? numberIn(stats, "inactive_file") ?? 0;
  return Math.max(0, (numberIn(memory, "usage") ?? 0) - files - IDLE_BYTES);
}

function within(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function numberIn(value: unknown, name: string): number | undefined {
  const found = within(value, name);
  return typeof found === "number" ? found : undefined;
}
