/** Thrown when a check exceeds its steps, or its depth. */
export class StepsSpent extends Error {}

/** Step budget of one check of a value. A step takes some tens of nanoseconds. */
export class Steps {
  #budget: number;

  constructor(max: number) {
    this.#budget = max;
  }

  /** Throws a `StepsSpent` if fewer steps are left. */
  spend(steps: number): void {
    this.#budget -= steps;
    if (this.#budget < 0) throw new StepsSpent();
  }
}
