/**
 * Runs tasks in the order in which they come, no more than so many at once. A task for which there is room starts at once, in
 * the same turn of the event loop, because nearly every call of a tool is one.
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

  /** No further task starts. */
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
