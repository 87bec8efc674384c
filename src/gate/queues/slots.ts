/**
 * Runs tasks in the order in which they come, at most a given number at once. If there is room, as for nearly every
 * call of a tool, a task starts in the same turn of the event loop. Unlike `Places`, the tasks belong to one session:
 * no tenants are served in turn, and all tasks that wait are dropped at once.
 */
export class Slots {
  readonly #atOnce: number;
  #running = 0;
  /** Starts of tasks that wait, from `#next` on. */
  #waiting: (() => void)[] = [];
  #next = 0;
  #paused = false;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** The task's result. After `pause` it never comes for a task that has not started. */
  run<Value>(task: () => Promise<Value>): Promise<Value> {
    if (this.#running < this.#atOnce && !this.#paused) return this.#start(task);
    return new Promise((resolve, reject) => {
      // To resolve with a promise takes three turns of the microtask queue, this takes one.
      this.#waiting.push(() => void this.#start(task).then(resolve, reject));
    });
  }

  pause(): void {
    this.#paused = true;
    this.#waiting = [];
    this.#next = 0;
  }

  #start<Value>(task: () => Promise<Value>): Promise<Value> {
    this.#running += 1;
    const running = begin(task);
    running.then(this.#end, this.#end);
    return running;
  }

  readonly #end = (): void => {
    this.#running -= 1;
    const start = this.#waiting[this.#next];
    if (start === undefined || this.#paused) return;
    // The function holds the task's result, which may be large.
    this.#waiting[this.#next] = GONE;
    this.#next += 1;
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
    start();
  };
}

const GONE = (): void => {};

/** An error that the task throws at once becomes a rejection. */
function begin<Value>(task: () => Promise<Value>): Promise<Value> {
  try {
    return task();
  } catch (error) {
    return Promise.reject(error);
  }
}
