import { availableParallelism, loadavg } from "node:os";
import { expect } from "vitest";
import type { HostCost } from "./watch.ts";

/** Longest time that the host's event loop may stand still, and where its thread had to wait for a core meanwhile. */
export const GAP_MS = 50;
const LOADED_GAP_MS = 200;
const ATTEMPTS = 3;

/** What an attack cost, and the most that is promised of that. */
export interface Cost {
  readonly of: string;
  readonly value: number;
  readonly most: number;
}

/** Whether other tests, or others on this machine, keep the cores busy: then these, and what they share, are not the host's own. */
export function isLoaded(): boolean {
  return (loadavg()[0] ?? 0) > availableParallelism();
}

/** How long an attack has held the host's event loop. */
export function gapCosts({ gapMs, ownGapMs }: Pick<HostCost, "gapMs" | "ownGapMs">): readonly Cost[] {
  return [
    {
      of: "ms the event loop stood still with a core of its own",
      value: ownGapMs,
      most: isLoaded() ? LOADED_GAP_MS : GAP_MS,
    },
    { of: "ms the event loop stood still", value: gapMs, most: LOADED_GAP_MS },
  ];
}

/** Runs an attack and holds its costs to what is promised. What costs more is run again: what others do on this machine is not to blame on it. */
export async function holdToPromise(name: string, attack: () => Promise<readonly Cost[]>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const over = (await attack()).filter(({ value, most }) => value > most);
    for (const { of, value, most } of over)
      process.stdout.write(`${name}, run ${attempt}: ${value.toFixed(0)} ${of}, ${most.toFixed(0)} promised\n`);
    if (over.length === 0) return;
    if (attempt === ATTEMPTS) return expect(over).toEqual([]);
  }
}
