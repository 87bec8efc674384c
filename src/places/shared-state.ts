import { now } from "../clock.ts";

/** What a change of a state makes of it, and what its caller gets. */
export interface Changed<State, Result> {
  readonly state: State;
  readonly result: Result;
}

/** Small states by key, which several processes change: each change is made whole, on what the last one has left. */
export interface SharedState {
  /**
   * Makes a change. `change` is given the state, undefined at first, and the time of the store's clock in milliseconds; it may
   * be called again if another process was faster. The state is plain JSON.
   */
  update<State, Result>(
    key: string,
    change: (state: State | undefined, now: number) => Changed<State, Result>,
  ): Promise<Result>;
  /** Has what this process holds given back when it leaves. */
  onLeave(giveBack: () => Promise<void>): void;
}

/** The states of one process, or of several parts of a fleet in it. */
export class ProcessState implements SharedState {
  readonly #states = new Map<string, unknown>();

  async update<State, Result>(
    key: string,
    change: (state: State | undefined, now: number) => Changed<State, Result>,
  ): Promise<Result> {
    const { state, result } = change(this.#states.get(key) as State | undefined, now());
    this.#states.set(key, state);
    return result;
  }

  onLeave(): void {}
}
