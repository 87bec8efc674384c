/** A check that took more steps than it may. */
export class StepsSpent extends Error {}

/** What one check of a value may cost. A step takes some tens of nanoseconds. */
export class Steps {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  /** Throws a `StepsSpent` once there are none left. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new StepsSpent();
  }
}
