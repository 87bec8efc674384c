import { slowness } from "../support/slowness.ts";
import type { HostCost } from "./watch.ts";

/** Longest time that the host's event loop may stand still, and while its thread had to wait for a core. */
export const GAP_MS = 50;
const LOADED_GAP_MS = 200;
const ATTEMPTS = 4;

/** What an attack cost, and the most that is promised of that. */
export interface Cost {
  readonly of: string;
  readonly value: number;
  readonly most: number;
}

/** How long an attack has held the host's event loop. */
export function gapCosts({ gapMs, ownGapMs }: Pick<HostCost, "gapMs" | "ownGapMs">): readonly Cost[] {
  return [
    {
      of: "ms the event loop stood still with a core of its own",
      value: ownGapMs,
      most: ownGapMs <= GAP_MS ? GAP_MS : Math.min(LOADED_GAP_MS, GAP_MS * slowness("clock")),
    },
    {
      of: "ms the event loop stood still",
      value: gapMs,
      most: gapMs <= LOADED_GAP_MS ? LOADED_GAP_MS : LOADED_GAP_MS * slowness("clock"),
    },
  ];
}

/** Runs an attack and holds its costs to what is promised. What costs more is run again: what others do on this machine is not to blame on it. */
export async function holdToPromise(name: string, attack: () => Promise<readonly Cost[]>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const costs = await attack();
    const over = costs
      .filter(({ value, most }) => value > most)
      .map(({ of, value, most }) => `${value.toFixed(0)} ${of}, ${most.toFixed(0)} promised`)
      .join("; ");
    if (over === "") return;
    process.stdout.write(`${name}, run ${attempt}: ${over}\n`);
    // In one line, which is still read where only the end of what the tests print is kept.
    if (attempt === ATTEMPTS)
      throw new Error(`${name} cost too much in each of ${ATTEMPTS} runs; in the last: ${over}`);
  }
}
