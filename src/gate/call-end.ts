/** Result of a task whose call ended first. */
export const OVER = Symbol("over");

/** Whether a call has ended. After its end, its tasks are not awaited. */
export class CallEnd {
  #abort: AbortController | undefined;
  #reason: string | Error | undefined;
  /** Why its handler was ended, if that took too long. */
  #late: string | undefined;
  #onEnd: (() => void) | undefined;
  #onLate: (() => void) | undefined;

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  /** Created on first use, because most handlers never read it. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    const reason = this.#late ?? this.#reason;
    if (reason !== undefined) this.#abort.abort(errorOf(reason));
    return this.#abort.signal;
  }

  protected get hasSignal(): boolean {
    return this.#abort !== undefined;
  }

  /** The first reason holds. */
  protected set(reason: string | Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#abort?.abort(errorOf(reason));
    this.#onEnd?.();
  }

  /** Aborts a handler that took too long. The call stays open until its failure is the answer. */
  setLate(reason: string): void {
    if (this.#reason !== undefined || this.#late !== undefined) return;
    this.#late = reason;
    this.#abort?.abort(new Error(reason));
    this.#onLate?.();
  }

  /**
   * The task's result, or OVER as soon as the call has ended; with `endsLate` also as soon as its handler has taken too long.
   * Then the task is not awaited, and its error is ignored. One promise for both outcomes and what is read of them, because
   * this runs twice for every call. What the task throws rejects the promise, unless `failed` reads it.
   */
  or<Value, Read = Value | typeof OVER>(
    task: () => Value | Promise<Value>,
    read: (value: Value | typeof OVER) => Read | Promise<Read> = (value) => value as Read,
    failed: (error: unknown) => Read = (error) => {
      throw error;
    },
    endsLate = false,
  ): Promise<Read> {
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const once =
        <Input>(take: (value: Input) => Read | Promise<Read>) =>
        (value: Input): void => {
          if (isSettled) return;
          isSettled = true;
          try {
            resolve(take(value));
          } catch (error) {
            reject(error);
          }
        };
      const settle = once(read);
      const fail = once(failed);
      const end = () => settle(OVER);
      if (endsLate) this.#onLate = end;
      if (this.#reason !== undefined) return end();
      const outer = this.#onEnd;
      this.#onEnd = () => {
        outer?.();
        end();
      };
      let running: Value | Promise<Value>;
      try {
        running = task();
        if (running instanceof Promise) return void running.then(settle, fail);
      } catch (error) {
        return fail(error);
      }
      settle(running);
    });
  }
}

/** Thousands of calls may end at once, and few of them are asked why. */
function errorOf(reason: string | Error): Error {
  return typeof reason === "string" ? new Error(reason) : reason;
}
