import { type Daemon, isObject } from "./daemon.ts";

/** Memory of a container with an idle guest, in bytes; about the same for node and python. */
const IDLE_BYTES = 12 * 1024 * 1024;

/** Reads a container's memory above an idle guest's, in bytes; 0 if the daemon does not report it. */
export async function readMemory(daemon: Daemon, id: string): Promise<number> {
  const answer = await daemon.dial({
    path: `/containers/${id}/stats?`,
    method: "GET",
    options: { stream: false, "one-shot": true },
    statusCodes: { 200: true, 404: "no such container", 500: "server error" },
  });
  const memory = within(answer, "memory_stats");
  const stats = within(memory, "stats");
  // Cached file pages, which the kernel reclaims when memory is short; named differently in cgroup v1 and v2.
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
