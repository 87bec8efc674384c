/** Rows that are encoded and parsed: work like that of a host, with garbage to collect. */
const ROWS = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}`, tags: ["a", "b"], nested: { id } }));
/** What the work takes on a machine at rest, in milliseconds: of two cores of 2025. */
const AT_REST_MS = 25;
const ROUNDS = 5;

/** Processor time that work took of this thread, in milliseconds. */
export async function processorMs(run: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await run();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/**
 * How many times as long as at rest this machine takes here and now, at least once: by the clock, or by the processor time
 * of this thread, which waiting for a core does not lengthen. What a test allows is multiplied by it, so that a slow or busy
 * machine fails no test, and a machine at rest allows nothing more.
 */
export function slowness(by: "clock" | "processor"): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const before = by === "clock" ? performance.now() : processorNow();
    JSON.parse(JSON.stringify(ROWS));
    return (by === "clock" ? performance.now() : processorNow()) - before;
  });
  const middle = times.toSorted((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? 0;
  return Math.max(1, middle / AT_REST_MS);
}

function processorNow(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
